import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ResolvedConfig } from '../config/config.js';
import { counted } from '../policy/counted.js';
import type { BreakerState } from '../policy/breaker.js';
import { checkStore } from '../store/check-store.js';
import { countKinds } from '../store/measure-store.js';
import { openStore } from '../store/open-store.js';
import type { StoreChoice } from '../store/store-choice.js';
import { StoreError } from '../store/store-error.js';
import { openUpkeep, type UpkeepDatabase } from '../store/upkeep-database.js';
import type { Finding } from './diagnosis.js';
import { FailureRecords } from './failure-records.js';

/** Below this a busy worker fills the disk within hours. */
const leastFreeBytes = 1_000_000_000;
/** Leases of 10 s, with a second of grace, bear this much; times that people compare do not bear more. */
const mostSkewMs = 1_000;
const recordsWithinMs = 7 * 24 * 3_600_000;

/** Whether the store opens, takes writes, has all it should, and what its records say of retries and breakers. */
export async function diagnoseStore(config: ResolvedConfig): Promise<{ findings: Finding[]; storeId?: string }> {
  let database: UpkeepDatabase;
  try {
    database = await openUpkeep(config.store);
  } catch (error) {
    return { findings: [notOpened(error)] };
  }
  const findings: Finding[] = [];
  try {
    findings.push(...(await contents(database, config)), await writable(database), ...(await disk(config.store)));
    findings.push(...(await clock(database)), ...(await breakers(database)), ...(await hiddenRetries(config)));
  } catch (error) {
    findings.push({ subject: 'store', status: 'problem', words: wordsOf(error), next: 'perdure store check --deep' });
  } finally {
    await database.close();
  }
  return { findings, storeId: database.storeId };
}

function notOpened(error: unknown): Finding {
  const isNew = error instanceof StoreError && error.code === 'not_a_store' && error.message.includes('no such file');
  if (isNew) return { subject: 'store', status: 'warning', words: wordsOf(error), next: 'perdure dev' };
  const next = 'check store in perdure.config.ts, or PERDURE_STORE';
  return { subject: 'store', status: 'problem', words: wordsOf(error), next };
}

async function contents(database: UpkeepDatabase, config: ResolvedConfig): Promise<Finding[]> {
  const [kinds, [meta], check] = await Promise.all([
    countKinds(database),
    database.query<{ value: string | number }>("SELECT value FROM meta WHERE name = 'schema_version'"),
    checkStore(database),
  ]);
  const rows = kinds.flatMap(({ kind, rows: number }) => (number > 0 ? [counted(number, singularOf(kind), kind)] : []));
  const words = `${database.name} (${database.storeId}), schema ${String(meta?.value)}: ${rows.join(', ') || 'empty'}`;
  const store: Finding = { subject: 'store', status: 'ok', words };
  if (check.problems.length > 0) {
    const ids = check.problems.slice(0, 3).map(({ kind, id }) => `${kind} ${id}`.trim());
    const more = check.problems.length > 3 ? `, and ${check.problems.length - 3} more` : '';
    const missing = `${ids.join(', ')}${more}`;
    return [store, { subject: 'store', status: 'problem', words: missing, next: 'perdure store check' }];
  }
  const keptFor = config.retention.closedRunsMs === null ? 'all runs are kept' : 'old runs go with perdure store gc';
  return [store, { subject: 'store', status: 'ok', words: `nothing is missing; ${keptFor}` }];
}

function singularOf(kind: string): string {
  return kind.endsWith('ies') ? `${kind.slice(0, -3)}y` : kind.replace(/s$/, '');
}

async function writable(database: UpkeepDatabase): Promise<Finding> {
  try {
    await database.write((query) => query("UPDATE meta SET value = value WHERE name = 'store_id'"));
    return { subject: 'store', status: 'ok', words: 'takes writes' };
  } catch (error) {
    return { subject: 'store', status: 'problem', words: wordsOf(error), next: 'check rights and disk' };
  }
}

async function disk(store: StoreChoice): Promise<Finding[]> {
  const folders = new Set([
    ...('path' in store ? [dirname(store.path)] : []),
    ...(store.blobs && 'folder' in store.blobs ? [store.blobs.folder] : []),
  ]);
  const findings: Finding[] = [];
  for (const folder of folders) {
    const found = await statfs(folder).catch(() => undefined);
    if (!found) continue;
    const freeBytes = found.bavail * found.bsize;
    const words = `${(freeBytes / 1e9).toFixed(1)} GB free in ${folder}`;
    if (freeBytes >= leastFreeBytes) findings.push({ subject: 'disk', status: 'ok', words });
    else findings.push({ subject: 'disk', status: 'warning', words, next: 'perdure store gc --dry-run' });
  }
  return findings;
}

async function clock(database: UpkeepDatabase): Promise<Finding[]> {
  // A file's clock is this machine's own.
  if (database.kind === 'sqlite') return [];
  const askedAtMs = Date.now();
  const storeMs = await database.now();
  const skewMs = Math.round(storeMs - (askedAtMs + Date.now()) / 2);
  const words = `the store's is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(skewMs) <= mostSkewMs) return [{ subject: 'clock', status: 'ok', words }];
  return [{ subject: 'clock', status: 'warning', words, next: 'synchronise both machines (NTP)' }];
}

async function breakers(database: UpkeepDatabase): Promise<Finding[]> {
  const rows = await database.query<{ name: string; state: string }>(
    "SELECT name, state FROM shared WHERE name LIKE 'breaker/%' ORDER BY name",
  );
  const nowMs = await database.now();
  return rows.flatMap(({ name, state }): Finding[] => {
    const { open } = JSON.parse(state) as BreakerState;
    if (!open) return [];
    const restMs = open.sinceMs + open.coolDownMs - nowMs;
    const until = restMs > 0 ? `for ${Math.ceil(restMs / 1_000)} s more` : 'until its next call, which is let through';
    const words = `${name.slice('breaker/'.length)} is switched off ${until}`;
    return [{ subject: 'breaker', status: 'warning', words, next: 'perdure stats --since 1h' }];
  });
}

async function hiddenRetries(config: ResolvedConfig): Promise<Finding[]> {
  const store = await openStore(config.store);
  try {
    const { hiddenRetries: found, all } = await new FailureRecords(store).stats({ withinMs: recordsWithinMs });
    if (found.length === 0) {
      if (all.startsSeen === 0) return [];
      const words = `${counted(all.attemptsSeen, 'attempt')} seen by backends for ${all.startsSeen} made, in the last 7 days`;
      return [{ subject: 'retries', status: 'ok', words }];
    }
    return found.map(({ kind, name, host, client, mostInOneStart, worst, remedy }): Finding => {
      const who = `${kind} ${name}: its client${client === undefined ? '' : ` (${client})`} retries by itself`;
      const where = host === undefined ? '' : ` at ${host}`;
      const worstCase = `${worst.starts} ${worst.starts === 1 ? 'attempt was' : 'attempts were'} ${worst.seen} at the backend`;
      const words = `${who}${where}: executor ${worst.starts} × client ${mostInOneStart}, ${worstCase}`;
      return { subject: 'retries', status: 'warning', words, next: `switch the client's own retries off: ${remedy}` };
    });
  } finally {
    await store.close();
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
