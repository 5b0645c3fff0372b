import { isSafeNumber, parse as parseLossless } from 'lossless-json';
import type { Json } from '../contract/json.js';
import { sizeInWords } from '../results/binary.js';
import { HttpAnswerError, HttpRequestError } from './http-errors.js';
import { ToolError } from './tool-error.js';

export interface HttpRequest {
  method: string;
  url: URL;
  headers: Headers;
  body?: RequestInit['body'];
  signal: AbortSignal;
  /** Limit of a successful answer's body, after decompression. */
  maxBytes: number;
  /** Follows redirects within the same origin; only for what may be sent again. */
  follows: boolean;
}

export interface HttpAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  contentType: string;
  /** JSON or text by content type; a Blob with its type for everything else; `undefined` where there is none. */
  body: unknown;
}

/** The most redirects that are followed; the Fetch standard allows 20, and an API needs one or two. */
const mostRedirects = 5;
/** What is kept of the body of an answer that is no success. */
const errorBodyBytes = 64 * 1024;

/**
 * Sends one request, without retries. Resolves with a 2xx answer. Rejects with `HttpAnswerError` for any other answer
 * and for HTML or broken JSON in a 2xx, with `HttpRequestError` where no whole answer came, and with a `ToolError`
 * `output_too_large` (effect `done`) where a 2xx body is above the limit. Messages name method and host only.
 */
export async function sendRequest(request: HttpRequest): Promise<HttpAnswer> {
  const label = `${request.method} ${request.url.host}`;
  const response = await fetchFollowing(request, label);
  const answer = {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    contentType: response.headers.get('content-type') ?? '',
  };
  if (!response.ok) {
    const { bytes } = await readBytes(response, errorBodyBytes, label);
    const body = parseBody(bytes, answer.contentType).body;
    throw new HttpAnswerError({
      ...answer,
      body: typeof body === 'object' && !(body instanceof Blob) ? (body as Json) : textOfBody(bytes),
      message: `request failed with status ${String(answer.status)} (${label})`,
    });
  }
  if (request.method === 'HEAD') {
    await response.body?.cancel();
    return { ...answer, body: undefined };
  }
  const { bytes, cut } = await readBytes(response, request.maxBytes, label);
  if (cut) throw tooLarge(request.maxBytes);
  const { body, broken } = parseBody(bytes, answer.contentType);
  if (broken !== undefined) {
    throw new HttpAnswerError({
      ...answer,
      body: textOfBody(bytes.subarray(0, errorBodyBytes)),
      message: `${label} answered with ${broken}`,
    });
  }
  return { ...answer, body };
}

async function fetchFollowing(request: HttpRequest, label: string): Promise<Response> {
  let url = request.url;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetchOnce({ ...request, url }, label);
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
    // Elsewhere, the headers (and the credentials in them) must not go; and a request with an effect is sent once.
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (!request.follows || next?.origin !== url.origin || redirects >= mostRedirects) return response;
    await response.body?.cancel();
    url = next;
  }
}

async function fetchOnce({ method, url, headers, body, signal }: HttpRequest, label: string): Promise<Response> {
  if (signal.aborted) {
    throw new HttpRequestError(`${label}: not sent, because time was up`, { sent: false, cause: signal.reason });
  }
  try {
    return await fetch(url, { method, headers, signal, redirect: 'manual', ...(body === undefined ? {} : { body }) });
  } catch (error) {
    if (isBlockedPort(error)) {
      const message = `${label}: the Fetch standard blocks this port; serve the API on another`;
      throw new ToolError({ class: 'misconfigured', effect: 'none', message });
    }
    throw new HttpRequestError(`${label}: ${wordsOf(error)}`, { sent: mayHaveBeenSent(error), cause: error });
  }
}

/** Reads up to `maxBytes`; past them the connection is given up and `cut` is true. */
async function readBytes(
  response: Response,
  maxBytes: number,
  label: string,
): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Leaving the loop cancels the stream.
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      const left = maxBytes - size;
      chunks.push(chunk.subarray(0, left));
      size += chunk.length;
      if (size > maxBytes) return { bytes: Buffer.concat(chunks), cut: true };
    }
  } catch (error) {
    throw new HttpRequestError(`${label}: the answer was cut off`, { sent: true, cause: error });
  }
  return { bytes: Buffer.concat(chunks), cut: false };
}

function parseBody(bytes: Uint8Array, contentType: string): { body: unknown; broken?: string } {
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (bytes.length === 0) return { body: undefined };
  if (/[/+]json$/.test(mediaType)) {
    const text = textOfBody(bytes);
    try {
      return { body: parseExactly(text) };
    } catch {
      return { body: text, broken: 'JSON that cannot be read' };
    }
  }
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml') {
    return { body: textOfBody(bytes, charsetOf(contentType)), broken: 'a web page' };
  }
  if (/^text\/|[/+]xml$|x-www-form-urlencoded/.test(mediaType)) {
    return { body: textOfBody(bytes, charsetOf(contentType)) };
  }
  if (mediaType === '') return { body: bytes };
  return { body: new Blob([new Uint8Array(bytes)], { type: mediaType }) };
}

/** JSON whose large numbers keep their digits, as text: `JSON.parse` would round 2512292042121000001. */
function parseExactly(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  try {
    return parseLossless(text, undefined, (digits) => (isSafeNumber(digits) ? Number(digits) : digits));
  } catch {
    // The exact parser is stricter (it refuses repeated keys).
    return JSON.parse(text);
  }
}

function charsetOf(contentType: string): string {
  return /charset="?([\w-]+)/i.exec(contentType)?.[1] ?? 'utf-8';
}

function textOfBody(bytes: Uint8Array, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function tooLarge(maxBytes: number): ToolError {
  return new ToolError({
    class: 'output_too_large',
    effect: 'done',
    publicMessage: `The request was carried out, but its answer is larger than ${sizeInWords(maxBytes)}.`,
    hint: 'Ask for fewer items or fields.',
  });
}

/** Codes of Node.js, OpenSSL and undici that say that no connection was made. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_INVALID_URL',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

interface Cause {
  code?: unknown;
  syscall?: unknown;
  message?: unknown;
  cause?: unknown;
  errors?: unknown;
}

/** True unless the error proves that nothing left: what is not known may have been sent. */
function mayHaveBeenSent(error: unknown): boolean {
  return !provesUnsent(error, 0);
}

function provesUnsent(error: unknown, depth: number): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false;
  const { code, syscall, message, cause, errors } = error as Cause;
  // Every address was tried: only if none of the tries got through was nothing sent.
  if (Array.isArray(errors) && errors.length > 0) return errors.every((each) => provesUnsent(each, depth + 1));
  if (typeof code === 'string' && beforeSending.has(code)) return true;
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true;
  if (typeof message === 'string' && message.includes('before secure TLS connection was established')) return true;
  return provesUnsent(cause, depth + 1);
}

/** Ports of other protocols (https://fetch.spec.whatwg.org/#port-blocking); undici refuses them before it connects. */
function isBlockedPort(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.message === 'bad port';
}

/** The innermost words and code, which say more than "fetch failed". */
function wordsOf(error: unknown): string {
  let words = 'no answer';
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, message, cause, errors } = current as Cause;
    if (typeof code === 'string') words = code;
    else if (typeof message === 'string' && message !== '') words = message;
    current = Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
  }
  return words;
}
