/** Reads what can only be awaited (Blob, Response, streams, async generators), within a limit of bytes. */

export type BodyContent =
  | { kind: 'bytes'; bytes: Uint8Array; mediaType?: string }
  | { kind: 'text'; text: string }
  | { kind: 'items'; items: unknown[] }
  | { kind: 'too_large' }
  /** The source broke, was read before, or the signal aborted. */
  | { kind: 'broken'; error: unknown };

/** Items of an object stream: far more than anyone reads, and an endless one ends. */
const mostItems = 100_000;

/** Never rejects. Past `maxBytes` the source is told to stop, and nothing of it is kept. */
export async function readBody(
  body: unknown,
  { maxBytes, signal }: { maxBytes: number; signal?: AbortSignal | undefined },
): Promise<BodyContent> {
  try {
    if (body instanceof Blob) {
      if (body.size > maxBytes) return { kind: 'too_large' };
      return bytesWithType(new Uint8Array(await body.arrayBuffer()), body.type);
    }
    if (body instanceof Response) {
      const source = body.body;
      const content = source ? await readChunks(source, maxBytes, signal) : noBytes;
      return content.kind === 'bytes' ? bytesWithType(content.bytes, body.headers.get('content-type') ?? '') : content;
    }
    return await readChunks(body as AsyncIterable<unknown>, maxBytes, signal);
  } catch (error) {
    return { kind: 'broken', error };
  }
}

const noBytes: BodyContent = { kind: 'bytes', bytes: new Uint8Array() };

function bytesWithType(bytes: Uint8Array, contentType: string): BodyContent {
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  return mediaType === '' ? { kind: 'bytes', bytes } : { kind: 'bytes', bytes, mediaType };
}

async function readChunks(
  source: AsyncIterable<unknown>,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<BodyContent> {
  const chunks: unknown[] = [];
  let size = 0;
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(iterator.next(), signal);
      if (next.done === true) return joined(chunks, source);
      chunks.push(next.value);
      size += sizeOf(next.value);
      if (size > maxBytes || chunks.length > mostItems) {
        // Not awaited: a source that does not answer must not hold up the result.
        void Promise.resolve(iterator.return?.()).catch(() => undefined);
        return { kind: 'too_large' };
      }
    }
  } catch (error) {
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
    return { kind: 'broken', error };
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  promise.catch(() => undefined);
  signal.throwIfAborted();
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (stop) signal.removeEventListener('abort', stop);
  }
}

function sizeOf(chunk: unknown): number {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk);
  return chunk instanceof Uint8Array ? chunk.byteLength : 1;
}

function joined(chunks: unknown[], source: object): BodyContent {
  if (chunks.length > 0 && chunks.every((chunk) => chunk instanceof Uint8Array)) {
    return { kind: 'bytes', bytes: new Uint8Array(Buffer.concat(chunks)) };
  }
  // A stream of texts is one text in pieces; a generator that yields texts makes a list.
  const isStream = source instanceof ReadableStream || 'pipe' in source;
  const areTexts = chunks.every((chunk) => typeof chunk === 'string');
  return isStream && areTexts ? { kind: 'text', text: chunks.join('') } : { kind: 'items', items: chunks };
}
