import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Json } from '../../src/contract/json.js';

/** One request as it arrived at the backend: the truth about effects. */
export interface Effect {
  /** The tool. */
  name: string;
  /** The `Idempotency-Key` header; `''` where none was sent. */
  key: string;
  args: Json;
  /** Order of arrival, and of the answer; `answered` is absent where the caller went away first. */
  arrived: number;
  answered?: number;
}

/** What the backend answers to one request: a status with a body, or a closed connection after its work is done. */
export interface BackendAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: Json;
  /** Answer only when `release(name)` is called. */
  hold?: true;
  delayMs?: number;
  /** Close the connection after the effect, before any answer. */
  hangUp?: true;
}

export interface EffectsBackend extends AsyncDisposable {
  readonly url: string;
  /** Every request so far, in the order of arrival. */
  readonly journal: readonly Effect[];
  effectsOf(name: string): Effect[];
  /** The next answers to requests for `name`, one each; afterwards 200 with the arguments echoed. */
  script(name: string, answers: BackendAnswer[]): void;
  /** Answers what is held. */
  release(name: string): void;
  /** Resolves once `count` requests for `name` have arrived. */
  arrival(name: string, count?: number): Promise<void>;
}

/**
 * A tiny service on loopback that journals every effect. Disposing of it fails where a scripted answer was never asked for
 * or a held request never released: then the test did not do what it says.
 */
export async function startEffectsBackend(): Promise<EffectsBackend> {
  const journal: Effect[] = [];
  const scripts = new Map<string, BackendAnswer[]>();
  const held = new Map<string, (() => void)[]>();
  const waiting: { name: string; count: number; resolve: () => void }[] = [];
  let order = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = (request.url ?? '').slice(1);
    const body = await text(request);
    const effect: Effect = {
      name,
      key: String(request.headers['idempotency-key'] ?? ''),
      args: body === '' ? null : (JSON.parse(body) as Json),
      arrived: ++order,
    };
    journal.push(effect);
    const answer = scripts.get(name)?.shift() ?? {};
    for (const waiter of waiting.filter((each) => each.name === name)) {
      if (journal.filter((each) => each.name === name).length >= waiter.count) waiter.resolve();
    }
    if (answer.hold) {
      await new Promise<void>((resolve) => {
        held.set(name, [...(held.get(name) ?? []), resolve]);
        // A caller that went away is not waited for.
        response.once('close', () => {
          held.set(
            name,
            (held.get(name) ?? []).filter((each) => each !== resolve),
          );
          resolve();
        });
      });
    }
    if (answer.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, answer.delayMs));
    if (answer.hangUp) {
      response.destroy();
      return;
    }
    if (response.destroyed) return;
    effect.answered = ++order;
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body ?? { ok: true, name, args: effect.args }));
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    journal,
    effectsOf: (name) => journal.filter((effect) => effect.name === name),
    script: (name, answers) => void scripts.set(name, [...answers]),
    release: (name) =>
      held
        .get(name)
        ?.splice(0)
        .forEach((resolve) => resolve()),
    arrival: (name, count = 1) =>
      new Promise((resolve) => {
        if (journal.filter((effect) => effect.name === name).length >= count) resolve();
        else waiting.push({ name, count, resolve });
      }),
    async [Symbol.asyncDispose]() {
      const unasked = [...scripts].filter(([, answers]) => answers.length > 0).map(([name]) => name);
      const unreleased = [...held].filter(([, waits]) => waits.length > 0).map(([name]) => name);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (unasked.length > 0)
        throw new Error(`the backend's scripted answers were not all asked for: ${unasked.join()}`);
      if (unreleased.length > 0) throw new Error(`the backend still holds requests of: ${unreleased.join()}`);
    },
  };
}
