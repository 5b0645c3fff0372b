import { types } from 'node:util';
import type { Json, JsonObject } from '../contract/json.js';
import { mediaTypeOf, placeholderOf, textOf, type Attachment } from './binary.js';

/** Deepest nesting that is kept; JSON.stringify and every reader after it recurse too. */
const deepest = 100;

/** Values in one result: about 100 MB of memory at the most. */
const mostValues = 1_000_000;

/** A body that must be awaited: read after the walk and put in its place. */
export interface PendingBody {
  body: unknown;
  place: (json: Json) => void;
}

/**
 * One walk over a value of any kind. `toJson` never throws and always gives JSON; what it had to change is in `notes`,
 * bytes are in `attachments`, and streams are in `pending` for the caller to read.
 */
export class JsonWalk {
  readonly attachments: Attachment[] = [];
  readonly pending: PendingBody[] = [];
  /** The result had more values than are kept. */
  overflowed = false;
  readonly #notes = new Set<string>();
  #values = 0;
  readonly #ancestors = new Set<object>();

  get notes(): string[] {
    return [...this.#notes];
  }

  note(text: string): void {
    this.#notes.add(text);
  }

  toJson(value: unknown, place: (json: Json) => void): void {
    place(this.#convert(value, place));
  }

  /** Bytes as text where they are text (by their media type, or by looking), else as an attachment and its placeholder. */
  bytesToJson(bytes: Uint8Array, mediaType?: string): string {
    const text = mediaType === undefined || isTextual(mediaType) ? textOf(bytes) : undefined;
    if (text !== undefined) return text;
    const attachment = { mediaType: mediaType ?? mediaTypeOf(bytes), bytes };
    this.attachments.push(attachment);
    return placeholderOf(attachment);
  }

  #convert(value: unknown, place: (json: Json) => void): Json {
    switch (typeof value) {
      case 'string':
        return this.#wellFormed(value);
      case 'number':
        return this.#number(value);
      case 'boolean':
        return value;
      case 'bigint':
        return value.toString();
      case 'undefined':
        return null;
      case 'function':
      case 'symbol':
        this.note(`a ${typeof value} cannot be shown`);
        return null;
      case 'object':
        return value === null ? null : this.#guarded(value, place);
    }
  }

  /** Everything may throw here: getters, proxies, `toJSON`. */
  #guarded(value: object, place: (json: Json) => void): Json {
    this.#values += 1;
    if (this.#values > mostValues) {
      this.overflowed = true;
      return '(left out: too many values)';
    }
    if (this.#ancestors.has(value)) {
      this.note('a value contains itself');
      return '(the same value again)';
    }
    if (this.#ancestors.size >= deepest) {
      this.note(`values nested more than ${String(deepest)} levels deep were left out`);
      return '(nested too deeply)';
    }
    this.#ancestors.add(value);
    try {
      return this.#object(value, place);
    } catch {
      this.note('a value could not be read');
      return '(could not be read)';
    } finally {
      this.#ancestors.delete(value);
    }
  }

  #object(value: object, place: (json: Json) => void): Json {
    if (Array.isArray(value)) return this.#items(value, value.length);
    if (types.isDate(value)) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (types.isMap(value)) return this.#pairs([...value]);
    if (types.isSet(value)) return this.#items(value, value.size);
    if (types.isRegExp(value)) return String(value);
    if (types.isBoxedPrimitive(value)) return this.#convert(value.valueOf(), place);
    if (types.isPromise(value)) {
      // A rejection that nobody hears would end the process.
      value.catch(() => undefined);
      this.note('a promise was returned without being awaited');
      return '(a promise that was not awaited)';
    }
    const bytes = bytesOf(value);
    if (bytes) return this.bytesToJson(bytes);
    if (ArrayBuffer.isView(value)) return this.#items(value as unknown as Iterable<unknown>, Infinity);
    if (isBody(value)) {
      this.pending.push({ body: value, place });
      return null;
    }
    if (types.isNativeError(value) || value instanceof Error) return this.#error(value);
    return this.#plain(value, place);
  }

  #plain(value: object, place: (json: Json) => void): Json {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') {
      try {
        return this.#convert((toJSON as (key: string) => unknown).call(value, ''), place);
      } catch {
        this.note('a value’s own conversion to JSON failed; its fields are shown instead');
      }
    }
    const keys = Object.keys(value);
    if (keys.length > 0) return this.#fields(value, keys);
    const { [Symbol.iterator]: iterator } = value as { [Symbol.iterator]?: unknown };
    if (typeof iterator === 'function') return this.#iterated(value as Iterable<unknown>);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null || prototype === Object.prototype) return {};
    this.note('an object had no fields that can be read');
    return '(an object without readable fields)';
  }

  #fields(value: object, keys: string[], fields: JsonObject = {}): JsonObject {
    for (const key of keys) {
      let item: unknown;
      try {
        item = (value as Record<string, unknown>)[key];
      } catch {
        this.note('a field could not be read');
        item = '(could not be read)';
      }
      if (item === undefined || typeof item === 'function') continue;
      this.#put(fields, key, item);
    }
    return fields;
  }

  /** An error's words and own fields, without class name and stack: those are for operators. */
  #error(error: Error): JsonObject {
    const fields: JsonObject = { message: '' };
    this.#put(fields, 'message', safely(() => error.message) ?? '');
    const errors = safely(() => (error as { errors?: unknown }).errors);
    if (Array.isArray(errors)) this.#put(fields, 'errors', errors);
    const cause = safely(() => error.cause);
    if (cause !== undefined) this.#put(fields, 'cause', cause);
    const own = Object.keys(error).filter((key) => !['name', 'stack', 'message', 'errors', 'cause'].includes(key));
    return this.#fields(error, own, fields);
  }

  #items(items: Iterable<unknown>, length: number): Json[] {
    const converted: Json[] = [];
    for (const item of items) {
      const index = converted.length;
      if (this.#values + index > mostValues) {
        this.overflowed = true;
        converted.push(Number.isFinite(length) ? `(${String(length - index)} more)` : '(more)');
        break;
      }
      converted.push(null);
      this.toJson(item, (json) => (converted[index] = json));
    }
    this.#values += converted.length;
    return converted;
  }

  #pairs(pairs: [unknown, unknown][]): Json {
    const keys = new Set(pairs.map(([key]) => key));
    const named = pairs.every(([key]) => typeof key === 'string') && keys.size === pairs.length;
    if (!named) return this.#items(pairs, pairs.length);
    const fields: JsonObject = {};
    for (const [key, item] of pairs) this.#put(fields, key as string, item);
    return fields;
  }

  /** Headers, URLSearchParams, FormData, generators. */
  #iterated(value: Iterable<unknown>): Json {
    const items: unknown[] = [];
    for (const item of value) {
      if (this.#values + items.length > mostValues) {
        this.overflowed = true;
        break;
      }
      items.push(item);
    }
    const arePairs = items.length > 0 && items.every((item) => Array.isArray(item) && item.length === 2);
    return arePairs ? this.#pairs(items as [unknown, unknown][]) : this.#items(items, items.length);
  }

  #put(fields: JsonObject, key: string, item: unknown): void {
    let name = this.#wellFormed(key);
    while (name !== key && Object.hasOwn(fields, name)) name += '_';
    this.#values += 1;
    this.toJson(item, (json) => {
      // A plain assignment to `__proto__` would set the prototype.
      Object.defineProperty(fields, name, { value: json, enumerable: true, writable: true, configurable: true });
    });
  }

  #wellFormed(text: string): string {
    if (text.isWellFormed()) return text;
    this.note('half characters (lone surrogates) were replaced');
    return text.toWellFormed();
  }

  #number(value: number): Json {
    if (!Number.isFinite(value)) return String(value);
    // JSON has no negative zero.
    return value === 0 ? 0 : value;
  }
}

function isTextual(mediaType: string): boolean {
  return /^text\/|[/+](json|xml|yaml)$|javascript|x-www-form-urlencoded/.test(mediaType);
}

function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The bytes of what holds raw bytes; arrays of wider numbers are numbers. */
function bytesOf(value: object): Uint8Array | undefined {
  if (types.isUint8Array(value) || types.isUint8ClampedArray(value) || types.isDataView(value)) {
    return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  }
  if (types.isAnyArrayBuffer(value)) return new Uint8Array(value);
  // What a Buffer becomes on its way through JSON.
  const { type, data } = value as { type?: unknown; data?: unknown };
  const isJsonBuffer = type === 'Buffer' && Array.isArray(data) && Object.keys(value).length === 2;
  return isJsonBuffer && data.every((byte) => Number.isInteger(byte)) ? Uint8Array.from(data as number[]) : undefined;
}

/** Whether a value's content comes only by awaiting: Blob, Response, streams, async generators. */
function isBody(value: object): boolean {
  if (value instanceof Blob || value instanceof Response || value instanceof ReadableStream) return true;
  return typeof (value as { [Symbol.asyncIterator]?: unknown })[Symbol.asyncIterator] === 'function';
}
