/** Bytes in results: what they are, and how they are spoken of in text, where they never appear themselves. */

export interface Attachment {
  mediaType: string;
  bytes: Uint8Array;
}

export const unknownBinary = 'application/octet-stream';

/** First bytes of common formats; `undefined` stands for any byte. From the formats' own specifications. */
const signatures: { mediaType: string; bytes: (number | undefined)[] }[] = [
  { mediaType: 'image/png', bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { mediaType: 'image/jpeg', bytes: [0xff, 0xd8, 0xff] },
  { mediaType: 'image/gif', bytes: [0x47, 0x49, 0x46, 0x38] },
  {
    mediaType: 'image/webp',
    bytes: [0x52, 0x49, 0x46, 0x46, undefined, undefined, undefined, undefined, 0x57, 0x45, 0x42, 0x50],
  },
  {
    mediaType: 'audio/wav',
    bytes: [0x52, 0x49, 0x46, 0x46, undefined, undefined, undefined, undefined, 0x57, 0x41, 0x56, 0x45],
  },
  { mediaType: 'application/pdf', bytes: [0x25, 0x50, 0x44, 0x46, 0x2d] },
  { mediaType: 'application/zip', bytes: [0x50, 0x4b, 0x03, 0x04] },
  { mediaType: 'application/gzip', bytes: [0x1f, 0x8b] },
];

/** The media type that the first bytes show; `application/octet-stream` where they show none. */
export function mediaTypeOf(bytes: Uint8Array): string {
  const found = signatures.find(
    (signature) =>
      bytes.length >= signature.bytes.length &&
      signature.bytes.every((byte, index) => byte === undefined || bytes[index] === byte),
  );
  return found?.mediaType ?? unknownBinary;
}

/** What stands in text for bytes: `(image/png, 350 kB)`, `(binary, 4 bytes)`. */
export function placeholderOf({ mediaType, bytes }: Attachment): string {
  return `(${mediaType === unknownBinary ? 'binary' : mediaType}, ${sizeInWords(bytes.length)})`;
}

export function sizeInWords(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${String(bytes)} bytes`;
  if (bytes < 999_500) return `${String(Math.round(bytes / 1000))} kB`;
  return `${String(Math.round(bytes / 100_000) / 10)} MB`;
}

// eslint-disable-next-line no-control-regex -- control characters are what tells binary from text
const binaryCharacter = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f]/;

/** The text that the bytes are, where they are UTF-8 without control characters (ANSI colours pass); else `undefined`. */
export function textOf(bytes: Uint8Array): string | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
  return binaryCharacter.test(text) ? undefined : text;
}

/** Bytes of strict base64 (standard or URL-safe alphabet, padding optional); `undefined` where it is none. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  const compact = text.replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(compact)) return undefined;
  const bytes = Buffer.from(compact, 'base64');
  const digits = compact.replace(/=+$/, '').length;
  return bytes.length === Math.floor((digits * 3) / 4) ? new Uint8Array(bytes) : undefined;
}
