import type { ResolvedConfig } from '../config/config.js';
import { resolveStore } from '../config/resolve-store.js';
import { resolveServer, ServerUnreachableError } from '../server/connection.js';
import { checkStore, type StoreCheck } from '../store/check-store.js';
import { collectGarbage, type Collection } from '../store/collect-garbage.js';
import type { RunStanding } from '../store/collect-runs.js';
import { copyStore, type CopyProgress, type CopyReport } from '../store/copy-store.js';
import { measureStore, type StoreSizes } from '../store/measure-store.js';
import { openUpkeep } from '../store/upkeep-database.js';
import { openTemporalRuns } from './open-parts.js';
import type { RunServer } from './run-server.js';

/** Looks after the configuration's store, beside running workers. Each method rejects with a `StoreError`. */
export interface StoreUpkeep {
  /** As configured; `null` keeps all runs. */
  readonly retention: ResolvedConfig['retention'];
  check(options: { deep: boolean }): Promise<StoreCheck>;
  /**
   * The server is asked for each run that would go: one that it has open stays, one that the store takes for running and it
   * has closed goes. Those that it knows no more stay, but with `forgotten`. Where no server answers, a warning says so.
   */
  collect(options: {
    closedRunsMs: number | null;
    graceMs: number;
    dryRun: boolean;
    forgotten?: boolean;
  }): Promise<Collection>;
  measure(options: { runs: number }): Promise<StoreSizes>;
  /** Moves the store to a PostgreSQL database; see `copyStore`. Rejects with `ConfigError` where `url` is none. */
  copyTo(url: string, options: { schema?: string; onProgress: (progress: CopyProgress) => void }): Promise<CopyReport>;
  close(): Promise<void>;
}

/** What it comes to that nobody was asked. */
const unaskedWords = 'Runs count as ended where the store says so; those that it takes for running stay.';

async function standingOf(
  { workflowId, runKey }: { workflowId: string; runKey: string },
  runs: RunServer,
): Promise<RunStanding> {
  const run = await runs.describe(workflowId);
  // Nothing that the server says of a namesake is about this run. A workflow of a person's own has no key there.
  if (!run || (run.runKey ?? runKey) !== runKey) return { type: 'unknown' };
  if (run.status === 'running') return { type: 'open' };
  return { type: 'closed', as: run.status, atMs: run.closedAtMs ?? Date.now() };
}

export async function openStoreUpkeep(
  config: ResolvedConfig,
  { env, warn }: { env: Readonly<Record<string, string | undefined>>; warn: (text: string) => void },
): Promise<StoreUpkeep> {
  const { store: choice, retention, rootDir } = config;
  let server: RunServer | undefined;
  const onServer = async (): Promise<RunServer | undefined> => {
    const found = await resolveServer({ rootDir, env });
    try {
      if (found.kind !== 'none') return (server ??= await openTemporalRuns(found));
      warn(`No Temporal server was found.\n${unaskedWords}`);
    } catch (error) {
      if (!(error instanceof ServerUnreachableError)) throw error;
      warn(`${error.message}\n${unaskedWords}`);
    }
    return undefined;
  };
  const withDatabase = async <T>(use: (database: Awaited<ReturnType<typeof openUpkeep>>) => Promise<T>): Promise<T> => {
    const database = await openUpkeep(choice);
    try {
      return await use(database);
    } finally {
      await database.close();
    }
  };
  return {
    retention,
    check: (options) => withDatabase((database) => checkStore(database, options)),
    measure: (options) => withDatabase((database) => measureStore(database, options)),
    async collect(options) {
      const runs = options.closedRunsMs === null ? undefined : await onServer();
      return await withDatabase((database) =>
        collectGarbage(database, { ...options, ...(runs && { standing: (run) => standingOf(run, runs) }) }),
      );
    },
    async copyTo(url, { schema, onProgress }) {
      const { store: target } = resolveStore(
        { url, ...(schema !== undefined && { schema }), ...(choice.blobs && { blobs: choice.blobs }) },
        { rootDir, env: {} },
      );
      return await copyStore(choice, target, onProgress);
    },
    async close() {
      await server?.close();
    },
  };
}
