import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DatabaseSync } from 'node:sqlite';
import { badRequest, notFound, ok, type Answer, type ShopRequest } from './answer.ts';
import { openShopDatabase } from './database.ts';
import { planFaults, type Faults, type FaultPlan, type Operation } from './faults.ts';
import { Holds, type HoldMoment } from './holds.ts';
import { effectCounts } from './journal.ts';
import { listLabels, printLabel } from './labels.ts';
import { sendMessage } from './messages.ts';
import { cancelOrder, findCustomers, getOrder, openReturn, searchOrders } from './orders.ts';
import { refundPayment } from './payments.ts';

interface Route {
  method: 'GET' | 'POST';
  path: string;
  operation: Operation;
  handle(db: DatabaseSync, request: ShopRequest): Answer;
}

const routes: Route[] = [
  { method: 'GET', path: '/customers', operation: 'find_customers', handle: findCustomers },
  { method: 'GET', path: '/orders', operation: 'search_orders', handle: searchOrders },
  { method: 'GET', path: '/orders/:id', operation: 'get_order', handle: getOrder },
  { method: 'POST', path: '/orders/:id/cancel', operation: 'cancel_order', handle: cancelOrder },
  { method: 'POST', path: '/orders/:id/returns', operation: 'open_return', handle: openReturn },
  { method: 'POST', path: '/payments/:id/refunds', operation: 'refund_payment', handle: refundPayment },
  { method: 'POST', path: '/returns/:id/labels', operation: 'print_label', handle: printLabel },
  { method: 'GET', path: '/returns/:id/labels', operation: 'list_labels', handle: listLabels },
  { method: 'POST', path: '/customers/:id/messages', operation: 'send_message', handle: sendMessage },
];

const maxBodyBytes = 100_000;

export interface ShopService {
  /** `http://127.0.0.1:PORT` */
  url: string;
  port: number;
  holds: Holds;
  close(): Promise<void>;
}

/**
 * Starts the shop on 127.0.0.1. Besides the shop's own routes there are, for demos and tests:
 * `GET /admin/effects`; `POST /admin/holds {operation, moment}` stops the next such request, `GET /admin/holds?wait_ms=`
 * lists those that are stopped (waiting for one), `DELETE /admin/holds` lets them go.
 */
export async function startShopService(options: {
  dbPath: string;
  faults: Faults;
  /** 0, the default, takes a free one. */
  port?: number;
}): Promise<ShopService> {
  const db = openShopDatabase(options.dbPath, new Date());
  const holds = new Holds();
  const faults = planFaults(options.faults);
  const server = createServer((incoming, outgoing) => {
    const clientGone = new AbortController();
    outgoing.once('close', () => clientGone.abort());
    serve({ db, holds, faults, clientGone: clientGone.signal }, incoming)
      .then((answer) => (answer ? send(outgoing, answer) : incoming.socket.destroy()))
      .catch((error: unknown) => {
        if (clientGone.signal.aborted) return;
        process.stderr.write(`shop: ${error instanceof Error ? error.stack : String(error)}\n`);
        send(outgoing, { status: 500, body: { error: { code: 'internal', message: 'Something went wrong.' } } });
      });
  });
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    holds,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      db.close();
    },
  };
}

interface Serving {
  db: DatabaseSync;
  holds: Holds;
  faults: FaultPlan;
  clientGone: AbortSignal;
}

/** The answer to one request; `undefined` means that the connection is to be broken instead. */
async function serve(serving: Serving, incoming: IncomingMessage): Promise<Answer | undefined> {
  const url = new URL(incoming.url ?? '/', 'http://shop');
  const body = await readBody(incoming);
  if (body === undefined) return badRequest('bad_json', 'The body must be a JSON object.');
  if (url.pathname.startsWith('/admin/')) return administer(serving, `${incoming.method} ${url.pathname}`, url, body);

  const found = match(incoming.method, url.pathname);
  if (!found) return notFound(`route ${incoming.method} ${url.pathname}`);
  const { route, params } = found;
  const { db, holds, faults, clientGone } = serving;
  const { operation } = route;
  const header = incoming.headers['idempotency-key'];
  const idempotencyKey = typeof header === 'string' ? header : undefined;

  const fault = await faults.before(operation, clientGone);
  if (fault) return fault;
  await holds.reach({ operation, moment: 'before_commit', idempotencyKey }, clientGone);
  const answer = route.handle(db, { params, query: url.searchParams, body, idempotencyKey });
  await holds.reach({ operation, moment: 'after_commit', idempotencyKey }, clientGone);
  return answer.status === 200 && faults.losesAnswer(operation) ? undefined : answer;
}

async function administer(
  { db, holds, clientGone }: Serving,
  request: string,
  url: URL,
  body: Record<string, unknown>,
): Promise<Answer> {
  switch (request) {
    case 'GET /admin/effects':
      return ok({ effects: effectCounts(db) });
    case 'GET /admin/holds':
      return ok({ held: await holds.waitForHeld(Number(url.searchParams.get('wait_ms') ?? 0), clientGone) });
    case 'DELETE /admin/holds':
      holds.releaseAll();
      return ok({});
    case 'POST /admin/holds': {
      const { operation, moment } = body;
      if (!routes.some((route) => route.operation === operation) || !isMoment(moment)) {
        return badRequest('bad_hold', 'Name an operation, and a moment: before_commit or after_commit.');
      }
      holds.arm(operation as Operation, moment);
      return ok({});
    }
    default:
      return notFound(`route ${request}`);
  }
}

function isMoment(value: unknown): value is HoldMoment {
  return value === 'before_commit' || value === 'after_commit';
}

function match(
  method: string | undefined,
  pathname: string,
): { route: Route; params: Record<string, string> } | undefined {
  const given = pathname.split('/').map(decoded);
  for (const route of routes) {
    const wanted = route.path.split('/');
    if (route.method !== method || wanted.length !== given.length) continue;
    const fits = wanted.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === given[index]));
    if (!fits) continue;
    const params: Record<string, string> = {};
    for (const [index, part] of wanted.entries()) {
      if (part.startsWith(':')) params[part.slice(1)] = given[index] ?? '';
    }
    return { route, params };
  }
  return undefined;
}

/** The part of a path as it was meant; as it is where its escapes are broken. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The JSON object in the body, `{}` for an empty one, `undefined` for anything else. */
async function readBody(incoming: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  if (bytes === 0) return {};
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function send(outgoing: ServerResponse, { status, body, headers }: Answer): void {
  const isPage = typeof body === 'string';
  outgoing
    .writeHead(status, { 'content-type': isPage ? 'text/html' : 'application/json', ...headers })
    .end(isPage ? body : JSON.stringify(body));
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
