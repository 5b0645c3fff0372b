import { once } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RequestWatch } from '../../src/activities/request-watch.js';

let server: Server;
let origin: string;
/** Requests in the order in which they arrived. */
let arrived: string[];

beforeEach(async () => {
  arrived = [];
  server = createServer((request, response) => {
    arrived.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (request.url === '/hang-up') request.socket.destroy();
    else response.writeHead(request.url === '/down' ? 503 : 200).end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const seenBy = (watch: RequestWatch) => watch.seen((text) => text);

/** A client as many are: it sends again by itself. */
async function stubborn(send: () => Promise<boolean>): Promise<void> {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    if (await send().catch(() => false)) return;
  }
}

const byFetch = (path: string) => async () => {
  const response = await fetch(`${origin}${path}`, { method: 'POST', body: 'x', headers: { 'idempotency-key': 'k' } });
  await response.arrayBuffer();
  return response.ok;
};

const byHttp = (path: string) => () =>
  new Promise<boolean>((resolve, reject) => {
    get(`${origin}${path}`, (response) => {
      response.resume().on('end', () => resolve(response.statusCode === 200));
    }).on('error', reject);
  });

it.each([
  ['fetch', byFetch, '/down', 503],
  ['fetch', byFetch, '/hang-up', 'no answer'],
  ['node:http', byHttp, '/down', 503],
  ['node:http', byHttp, '/hang-up', 'no answer'],
] as const)('sees what a client over %s sends again', async (_name, send, path, met) => {
  const watch = new RequestWatch();
  await watch.run(() => stubborn(send(path)));
  expect(arrived).toHaveLength(3);
  expect(seenBy(watch)).toMatchObject({
    sent: 3,
    retried: [{ host: new URL(origin).host, path, attempts: 3, retries: 2, after: [met, met] }],
  });
});

it('counts each body its own requests, however they mix', async () => {
  const watches = Array.from({ length: 5 }, () => new RequestWatch());
  await Promise.all(
    watches.map((watch, index) =>
      watch.run(async () => {
        for (let n = 0; n <= index; n += 1) await byFetch('/fine')();
      }),
    ),
  );
  expect(watches.map((watch) => seenBy(watch)?.sent)).toEqual([1, 2, 3, 4, 5]);
});

it('sees a connection that was refused', async () => {
  const { port } = server.address() as AddressInfo;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  const watch = new RequestWatch();
  await watch.run(() => stubborn(async () => (await fetch(`http://127.0.0.1:${String(port)}/`)).ok));
  expect(seenBy(watch)).toMatchObject({ sent: 3, retried: [{ attempts: 3, after: ['no answer', 'no answer'] }] });
});

it('counts nothing of what a body sends after it was given up, and nothing outside of bodies', async () => {
  const watch = new RequestWatch();
  let goOn = (): void => undefined;
  const late = watch.run(async () => {
    await byFetch('/fine')();
    await new Promise<void>((resolve) => (goOn = resolve));
    await byFetch('/fine')();
  });
  while (arrived.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await byFetch('/fine')();
  expect(seenBy(watch)).toEqual({ sent: 1 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  goOn();
  await late;
  expect(seenBy(watch)).toEqual({ sent: 1 });
});

it('adds what the backend reports, and refuses what is no count', () => {
  const watch = new RequestWatch();
  watch.report(3);
  expect(() => watch.report(1.5)).toThrow('ctx.seenByBackend: expected a whole number of attempts, 0 or more, got 1.5');
  expect(seenBy(watch)).toEqual({ sent: 0, reported: 3 });
});
