import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HealthEndpointOptions {
  /** 0 takes a free port. */
  port: number;
  /** Interface to listen on. */
  host: string;
  /** What `/readyz` answers: 200 where `ready`, else 503, and the whole as JSON. Must not reject. */
  check: () => Promise<{ ready: boolean }>;
}

export interface HealthEndpoint {
  /** `http://host:port`. */
  url: string;
  close(): Promise<void>;
}

/**
 * The endpoints that orchestrators ask: `/healthz` answers 200 as long as this process can answer at all (restart it where
 * it does not), `/readyz` 200 while it can do its work. Rejects where the port cannot be had.
 */
export async function startHealthEndpoint({ port, host, check }: HealthEndpointOptions): Promise<HealthEndpoint> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(`${JSON.stringify(body)}\n`);
    };
    if (path === '/healthz') answer(200, { live: true });
    else if (path === '/readyz') void check().then((health) => answer(health.ready ? 200 : 503, health));
    else answer(404, { error: 'there are /healthz and /readyz' });
  });
  server.listen(port, host);
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // Probes keep their connections open; the next one finds out that nobody listens.
  server.closeAllConnections();
  await closed;
}
