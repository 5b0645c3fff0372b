/**
 * Sees the HTTP requests that a body sends through Node: `fetch` and the undici package, `node:http` and `node:https`, by
 * the channels that Node publishes for tracing. Not seen: HTTP/2 sessions, raw sockets, native clients, other threads and
 * processes; a tool whose client is one of those can tell the count itself (`ctx.seenByBackend`).
 *
 * A request belongs to the body in whose asynchronous context it is made. A client that sends again from a callback of a
 * pooled socket (undici's `RetryAgent`) may so be counted for the body that opened the socket, or for none.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { SeenRequests } from '../contract/seen-requests.js';
import { RequestAudit, type AuditedRequest } from '../policy/request-audit.js';

/** Watches one start of a body. */
export class RequestWatch {
  readonly #audit = new RequestAudit();
  #isOver = false;

  /** Runs `body`; what it sends is counted until `seen` is asked. */
  run<T>(body: () => Promise<T>): Promise<T> {
    subscribeOnce();
    return watching.run(this, body);
  }

  report(attempts: number): void {
    if (!(Number.isSafeInteger(attempts) && attempts >= 0)) {
      throw new TypeError(`ctx.seenByBackend: expected a whole number of attempts, 0 or more, got ${String(attempts)}`);
    }
    if (!this.#isOver) this.#audit.report(attempts);
  }

  /** What the start was seen to send; what a body that was given up sends later is no part of it. */
  seen(mask: (text: string) => string): SeenRequests | undefined {
    this.#isOver = true;
    return this.#audit.seen(mask);
  }

  add(request: Parameters<RequestAudit['add']>[0]): AuditedRequest | undefined {
    return this.#isOver ? undefined : this.#audit.add(request);
  }
}

const watching = new AsyncLocalStorage<RequestWatch>();
/** Answers arrive in the socket's context, not the body's, so they are found by their request. */
const underWay = new WeakMap<object, AuditedRequest>();

/** What undici publishes; its own types are not part of Node's. */
interface UndiciRequest {
  origin?: string | URL;
  method: string;
  path: string;
  contentLength: number | null;
  /** Names and values in turn; of older versions one text of lines. */
  headers: readonly unknown[] | string;
}

let isSubscribed = false;

function subscribeOnce(): void {
  if (isSubscribed) return;
  isSubscribed = true;
  subscribe('undici:request:create', (message) => {
    const watch = watching.getStore();
    if (watch) sentByUndici(watch, (message as { request: UndiciRequest }).request);
  });
  subscribe('undici:request:headers', (message) => {
    const { request, response } = message as { request: object; response: { statusCode: number } };
    underWay.get(request)?.end(response.statusCode);
  });
  subscribe('undici:request:error', (message) => {
    underWay.get((message as { request: object }).request)?.end('no answer');
  });
  subscribe('http.client.request.start', (message) => {
    const watch = watching.getStore();
    if (watch) sentByHttp(watch, (message as { request: ClientRequest }).request);
  });
  subscribe('http.client.response.finish', (message) => {
    const { request, response } = message as { request: object; response: IncomingMessage };
    underWay.get(request)?.end(response.statusCode ?? 'no answer');
  });
  subscribe('http.client.request.error', (message) => {
    underWay.get((message as { request: object }).request)?.end('no answer');
  });
}

function sentByUndici(watch: RequestWatch, request: UndiciRequest): void {
  const origin = String(request.origin ?? '');
  const sent = watch.add({
    method: request.method,
    host: URL.canParse(origin) ? new URL(origin).host : origin,
    ...splitPath(request.path),
    contentLength: request.contentLength ?? undefined,
    header: (name) => headerOf(request.headers, name),
  });
  if (sent) underWay.set(request, sent);
}

function sentByHttp(watch: RequestWatch, request: ClientRequest): void {
  const header = (name: string): string | undefined => {
    const value = request.getHeader(name);
    return value === undefined ? undefined : String(value);
  };
  const length = Number(header('content-length') ?? NaN);
  const sent = watch.add({
    method: request.method,
    host: header('host') ?? request.host,
    ...splitPath(request.path),
    contentLength: Number.isNaN(length) ? undefined : length,
    header,
  });
  if (sent) underWay.set(request, sent);
}

function splitPath(whole: string): { path: string; query: string } {
  const at = whole.indexOf('?');
  return at < 0 ? { path: whole, query: '' } : { path: whole.slice(0, at), query: whole.slice(at) };
}

function headerOf(headers: UndiciRequest['headers'], name: string): string | undefined {
  if (typeof headers === 'string') {
    return headers
      .split('\r\n')
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  }
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const key = headers[index];
    if (typeof key === 'string' && key.toLowerCase() === name) return String(headers[index + 1]);
  }
  return undefined;
}
