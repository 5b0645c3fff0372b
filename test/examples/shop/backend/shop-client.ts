import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { noFaults, type Faults } from '../../../../examples/shop/backend/faults.js';
import { readEffectCounts } from '../../../../examples/shop/backend/journal.js';
import { startShopService } from '../../../../examples/shop/backend/service.js';

export interface ShopAnswer {
  status: number;
  body: unknown;
  headers: Headers;
}

/** A running shop with a new database, stopped and removed when the test ends. */
export async function openShop(faults: Partial<Faults> = {}) {
  const dbPath = join(temporaryFolder(), 'shop.db');
  const service = await startShopService({ dbPath, faults: { ...noFaults, ...faults } });
  onTestFinished(() => service.close());
  return { ...shopAt(service.url), url: service.url, dbPath, effects: () => readEffectCounts(dbPath) };
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-shop-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Requests to a shop, over real sockets. */
export function shopAt(url: string) {
  async function send(
    method: string,
    path: string,
    options: { body?: unknown; key?: string; signal?: AbortSignal } = {},
  ) {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(options.key === undefined ? {} : { 'idempotency-key': options.key }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    const body: unknown = isJson ? JSON.parse(text) : text;
    return { status: response.status, body, headers: response.headers } satisfies ShopAnswer;
  }
  return {
    get: (path: string) => send('GET', path),
    post: (path: string, body: unknown = {}, options: { key?: string; signal?: AbortSignal } = {}) =>
      send('POST', path, { body, ...options }),
    delete: (path: string) => send('DELETE', path),
  };
}
