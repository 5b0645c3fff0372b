import { stripVTControlCharacters } from 'node:util';
import { bytesOfBase64, mediaTypeOf, placeholderOf, unknownBinary, type Attachment } from './binary.js';

// eslint-disable-next-line no-control-regex -- these are what is removed
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Text without NUL, terminal escape sequences and other control characters; tabs and line ends stay. */
export function withoutControls(text: string): string {
  controls.lastIndex = 0;
  if (!controls.test(text)) return text;
  return stripVTControlCharacters(text).replace(controls, '');
}

const dataUri = /data:([a-z]+\/[a-z0-9.+-]+)(?:;[a-z0-9=-]+)*;base64,([A-Za-z0-9+/_-]{16,}={0,2})/gi;

/** Shorter base64 is left alone: it may be a hash, a token or a word, and costs little. */
const shortestBareBase64 = 256;

/**
 * Text without base64: data URIs, and whole texts that are base64 of a known file format, become placeholders; their
 * bytes go to `attachments`.
 */
export function withoutBase64(text: string, attachments: Attachment[]): string {
  const take = (attachment: Attachment) => {
    attachments.push(attachment);
    return placeholderOf(attachment);
  };
  if (text.includes(';base64,')) {
    return text.replace(dataUri, (whole, mediaType: string, data: string) => {
      const bytes = bytesOfBase64(data);
      return bytes ? take({ mediaType: mediaType.toLowerCase(), bytes }) : whole;
    });
  }
  if (text.length < shortestBareBase64 || !/^[A-Za-z0-9+/_=\s-]{64}/.test(text)) return text;
  const bytes = bytesOfBase64(text);
  const mediaType = bytes ? mediaTypeOf(bytes) : unknownBinary;
  return bytes && mediaType !== unknownBinary ? take({ mediaType, bytes }) : text;
}
