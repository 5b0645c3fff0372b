/**
 * The backend of the crash tests, as a process of its own: every effect is synced to disk before it is answered, so that
 * what it counts is what happened, whoever died meanwhile. Prints its port, then serves until it is ended.
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Arrival, BackendStep, OracleLine, OracleMode, OracleRequest } from './oracle.js';

const file = openSync(process.argv[2] as string, 'a');
const arrivals: Arrival[] = [];
/** Keys whose work was done and is remembered. */
const known = new Set<string>();
/** Requests so far, by key. */
const asked = new Map<string, number>();
const modes = new Map<string, OracleMode>();
const held = new Set<() => void>();
const fenced = new Map<string, number>();

function write(line: OracleLine): void {
  writeSync(file, `${JSON.stringify(line)}\n`);
  fsyncSync(file);
}

function record(request: OracleRequest): void {
  // A keyed backend does the work of one key once; one by nature overwrites; any other does it again.
  const effect = !(request.tool.startsWith('keyed') && known.has(request.key));
  const arrival: Arrival = { ...request, effect, atMs: Date.now() };
  write({ ...arrival, worked: true });
  known.add(request.key);
  arrivals.push(arrival);
}

function refuse(response: ServerResponse, status: number, request: OracleRequest, error: string): void {
  write({ ...request, effect: false, worked: false, atMs: Date.now() });
  answer(response, status, { error });
}

function hold(): Promise<void> {
  return new Promise((resolve) => held.add(resolve));
}

/** The mode that this request meets. */
function modeOf(tool: string): OracleMode {
  const mode = modes.get(tool) ?? { type: 'answer' };
  if ('after' in mode && mode.after !== undefined && mode.after > 0) {
    mode.after -= 1;
    return { type: 'answer' };
  }
  if ('times' in mode && mode.times !== undefined) {
    mode.times -= 1;
    if (mode.times === 0) modes.delete(tool);
  }
  return mode;
}

function stepOf(request: OracleRequest): BackendStep {
  const before = asked.get(request.key) ?? 0;
  asked.set(request.key, before + 1);
  const steps = request.backend ?? [];
  const last = steps.at(-1);
  // Whoever asks again after a refusal whose answer was lost is refused again.
  return steps[before] ?? (last?.answer === 'refuse' ? last : { answer: 'ok' });
}

async function act(request: OracleRequest, response: ServerResponse): Promise<void> {
  const mode = modeOf(request.tool);
  const step = stepOf(request);
  if (mode.type === 'refuse') return refuse(response, 422, request, 'the backend refuses this');
  if (mode.type === 'down' && Date.now() < mode.untilMs) return refuse(response, 503, request, 'down');
  if (mode.type === 'hold') await hold();
  if (mode.type === 'hold-then-503') {
    await hold();
    return refuse(response, 503, request, 'down');
  }
  if (step.beforeMs !== undefined) await sleep(step.beforeMs);
  if (step.answer === 'refuse') return refuse(response, 409, request, 'the backend has its reasons');
  if (step.answer === 'down') return refuse(response, 503, request, 'down');
  if ((fenced.get(request.key) ?? 0) >= request.attempt) return refuse(response, 409, request, 'fenced');
  record(request);
  if (step.afterMs !== undefined) await sleep(step.afterMs);
  if (mode.type === 'commit-then-silence' || step.answer === 'silence') return;
  if (mode.type === 'commit-then-500' || step.answer === '500') {
    return answer(response, 500, { error: 'crashed after its commit' });
  }
  if (mode.type === 'commit-then-hold') await hold();
  answer(response, 200, { done: request.key });
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as never;
  switch (request.url) {
    case '/act':
      return await act(body, response);
    case '/mode': {
      const { tool, mode } = body as { tool: string; mode: OracleMode };
      modes.set(tool, mode);
      return answer(response, 200, {});
    }
    case '/release':
      for (const release of held) release();
      held.clear();
      modes.clear();
      return answer(response, 200, {});
    case '/forget':
      known.clear();
      return answer(response, 200, {});
    case '/arrivals':
      return answer(response, 200, arrivals);
    case '/held':
      return answer(response, 200, { held: held.size });
    case '/find':
      return answer(
        response,
        200,
        arrivals.filter(({ key }) => key === (body as { key: string }).key),
      );
    case '/fence': {
      const { key, upToAttempt } = body as { key: string; upToAttempt: number };
      fenced.set(key, upToAttempt);
      return answer(response, 200, {});
    }
    default:
      return answer(response, 404, { error: `the oracle has no ${request.url ?? ''}` });
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    answer(response, 400, { error: String(error) });
  });
});
// A connection outlasts any stall of whoever holds it.
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('disconnect', () => {
  closeSync(file);
  process.exit(0);
});
