/**
 * The soak's backend, as a process of its own: it fails as planned, does the work of one idempotency key once, and counts
 * what really happened. Tells its port, then serves until its parent goes.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FailureClass } from '../../src/contract/failure.js';
import { planCall, type PlannedFault, type SoakTool } from './soak-plan.js';

/** What became of one call at the backend. */
export interface Seen {
  n: number;
  tool: SoakTool;
  requests: number;
  /** How often the work was done; a repetition under a known key is none. */
  effects: number;
  keys: string[];
  /** Requests that met the planned fault. */
  faults: number;
}

const seed = Number(process.argv[2]);
const seen = new Map<number, Seen>();
const doneKeys = new Set<string>();
/** Tools whose backend knows a key again; the others do the work at each request. */
const keyed: readonly SoakTool[] = ['charge', 'import_rows'];
const withoutEffect: readonly SoakTool[] = ['look_up', 'fragile'];

function commit(call: Seen, key: string): void {
  if (withoutEffect.includes(call.tool)) return;
  // Setting a value again is no second effect.
  if (call.tool === 'set_status') call.effects = 1;
  else if (!keyed.includes(call.tool) || !doneKeys.has(key)) call.effects += 1;
  doneKeys.add(key);
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://backend');
  const body = await text(request);
  if (pathname === '/seen') return answer(response, 200, [...seen.values()]);
  const key = String(request.headers['idempotency-key'] ?? '');
  if (pathname === '/find') return answer(response, 200, { found: doneKeys.has(key) });
  const { n } = JSON.parse(body) as { n: number };
  const { fault } = planCall(seed, n);
  const tool = pathname.slice(1) as SoakTool;
  const call = seen.get(n) ?? { n, tool, requests: 0, effects: 0, keys: [], faults: 0 };
  seen.set(n, call);
  call.requests += 1;
  if (!call.keys.includes(key)) call.keys.push(key);
  // Faults of the tool's own code come after the backend's good answer.
  const isFaulty = fault !== undefined && call.requests <= fault.times && tool !== 'import_rows';
  if (isFaulty) call.faults += 1;
  if (!isFaulty || fault.afterCommit) commit(call, key);
  if (isFaulty) fail(response, fault);
  else answer(response, 200, { done: n });
}

const answers: Partial<Record<FailureClass, [status: number, body: unknown, headers?: Record<string, string>]>> = {
  validation_error: [422, { error: { message: 'n is not to my taste' } }],
  input_too_large: [413, { error: { message: 'too much' } }],
  not_found: [404, { error: { message: 'there is none' } }],
  auth_failed: [401, { error: { message: 'who are you?' } }],
  permission_denied: [403, { error: { message: 'not for you' } }],
  business_rule_violation: [409, { error: { message: 'the day is closed' } }],
  quota_exhausted: [402, { error: { message: 'pay first' } }],
  unsupported: [405, { error: { message: 'not here' } }],
  rate_limit: [429, { error: { message: 'slower' } }, { 'retry-after': '0' }],
  external_service_unavailable: [503, { error: { message: 'down' } }],
  server_error: [500, { error: { message: 'oops' } }],
  session_expired: [440, { error: { message: 'log in again' } }],
  conflict_in_progress: [409, { error: { message: 'still at it' } }, { 'x-should-retry': 'true' }],
  idempotency_mismatch: [409, { error: { code: 'idempotency_key_reused', message: 'other arguments' } }],
  misconfigured: [411, { error: { message: 'no length' } }],
};

function fail(response: ServerResponse, fault: PlannedFault): void {
  // No answer at all: the caller's deadline ends it.
  if (fault.class === 'timeout') return;
  if (fault.class === 'network_error') return void response.destroy();
  if (fault.class === 'protocol_error') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Welcome</title>');
    return;
  }
  const planned = answers[fault.class];
  if (!planned) throw new Error(`the backend has no way to cause ${fault.class}`);
  answer(response, ...planned);
}

function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    process.stderr.write(`soak backend: ${String(error)}\n`);
    response.destroy();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('disconnect', () => process.exit(0));
