import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../../config/duration.js';
import type { StoreUpkeep } from '../../client/store-upkeep.js';
import { LEAST_GRACE_MS } from '../../store/collect-garbage.js';
import { counted } from '../../policy/counted.js';
import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, jsonOption, wholeNumber, withNotes } from '../registration.js';
import { makeStyle } from '../render/style.js';
import { renderCheck, renderCollection, renderSizes } from '../render/store-view.js';

/** `perdure store check | gc | stats | copy`. */
export const addStore: AddCommand = (program, { platform, finish }) => {
  const store = program.command('store').description('check, clean up, measure or move what runs are kept in');
  const check = store
    .command('check')
    .description('whether all that runs refer to is there; ends with 2 where something is not')
    .option('--deep', 'hold all content against its ids, not a sample')
    .addOption(jsonOption())
    .action(async (options: { deep?: boolean; json?: boolean }) => finish(await checkCommand(platform, options)));
  withNotes(check, { examples: ['perdure store check', 'perdure store check --deep'] });
  const gc = store
    .command('gc')
    .description('remove what no run needs, beside running workers')
    .option('--dry-run', 'say what would go, and change nothing')
    .option(
      '--closed-runs <time>',
      'runs that ended longer ago go too, e.g. 90d (default: retention.closedRunsMs)',
      age,
    )
    .option('--grace <time>', 'keep what is younger, 1h at least (default: retention.graceMs, 7d)', grace)
    .option('--forgotten', 'runs without an end go too where the server knows them no more')
    .addOption(jsonOption())
    .action(async (options: GcOptions) => finish(await gcCommand(platform, options)));
  withNotes(gc, {
    details:
      'The server is asked which of the runs that would go are open, and how those without an end in the store have closed.',
    examples: [
      'perdure store gc --dry-run',
      'perdure store gc --closed-runs 90d',
      'perdure store gc --closed-runs 90d --forgotten',
    ],
  });
  const stats = store
    .command('stats')
    .description('rows and bytes of each kind, and the biggest runs')
    .option('--runs <count>', 'so many of the biggest runs', wholeNumber, 10)
    .addOption(jsonOption())
    .action(async (options: { runs: number; json?: boolean }) => finish(await statsCommand(platform, options)));
  withNotes(stats, { examples: ['perdure store stats --json | jq .biggestRuns'] });
  const copy = store
    .command('copy')
    .description('move a SQLite store to PostgreSQL, with its runs; stop the workers first')
    .requiredOption('--to <url>', 'postgres://user:password@host:port/database')
    .option('--schema <name>', 'schema of the tables (default: perdure)')
    .addOption(jsonOption())
    .action(async (options: CopyOptions) => finish(await copyCommand(platform, options)));
  withNotes(copy, { examples: ['perdure store copy --to postgres://perdure@db.example.com/perdure'] });
};

interface GcOptions {
  dryRun?: boolean;
  closedRuns?: number;
  grace?: number;
  forgotten?: boolean;
  json?: boolean;
}

interface CopyOptions {
  to: string;
  schema?: string;
  json?: boolean;
}

async function checkCommand(
  platform: Platform,
  { deep = false, json }: { deep?: boolean; json?: boolean },
): Promise<number> {
  return await withUpkeep(platform, async (upkeep) => {
    const check = await upkeep.check({ deep });
    print(platform, json ? JSON.stringify(check, null, 2) : renderCheck(check, styleOf(platform)));
    return check.problems.length === 0 ? exitCodes.done : exitCodes.usage;
  });
}

async function gcCommand(platform: Platform, options: GcOptions): Promise<number> {
  return await withUpkeep(platform, async (upkeep) => {
    const { closedRunsMs, graceMs } = upkeep.retention;
    const collection = await upkeep.collect({
      closedRunsMs: options.closedRuns ?? closedRunsMs,
      graceMs: options.grace ?? graceMs,
      dryRun: options.dryRun ?? false,
      forgotten: options.forgotten ?? false,
    });
    print(
      platform,
      options.json ? JSON.stringify(collection, null, 2) : renderCollection(collection, styleOf(platform)),
    );
    if (!options.json && (options.closedRuns ?? closedRunsMs) === null) {
      platform.err.write('All runs are kept: set retention.closedRunsMs, or give --closed-runs 90d.\n');
    }
    return exitCodes.done;
  });
}

async function statsCommand(platform: Platform, { runs, json }: { runs: number; json?: boolean }): Promise<number> {
  return await withUpkeep(platform, async (upkeep) => {
    const sizes = await upkeep.measure({ runs });
    print(platform, json ? JSON.stringify(sizes, null, 2) : renderSizes(sizes, styleOf(platform)));
    return exitCodes.done;
  });
}

async function copyCommand(platform: Platform, { to, schema, json }: CopyOptions): Promise<number> {
  return await withUpkeep(platform, async (upkeep) => {
    let told = '';
    const report = await upkeep.copyTo(to, {
      ...(schema !== undefined && { schema }),
      onProgress({ table, done, total }) {
        // A line for each table, and for each tenth of a large one.
        const tenths = total < 10_000 ? 10 : Math.floor((done / Math.max(1, total)) * 10);
        if (told === `${table} ${tenths}`) return;
        told = `${table} ${tenths}`;
        if (done === total || total >= 10_000) platform.err.write(`${table}: ${done} of ${counted(total, 'row')}\n`);
      },
    });
    if (json) print(platform, JSON.stringify(report, null, 2));
    else {
      const rows = Object.values(report.rows).reduce((sum, number) => sum + number, 0);
      print(
        platform,
        `Store ${report.storeId} was moved: ${counted(rows, 'row')} in ${counted(Object.keys(report.rows).length, 'table')}.`,
      );
      platform.err.write(
        'The file refuses from now on. Set store: { url: … } (or PERDURE_STORE), then start the workers.\n',
      );
    }
    return exitCodes.done;
  });
}

async function withUpkeep(platform: Platform, use: (upkeep: StoreUpkeep) => Promise<number>): Promise<number> {
  const upkeep = await platform.openUpkeep();
  try {
    return await use(upkeep);
  } finally {
    await upkeep.close();
  }
}

function print(platform: Platform, text: string): void {
  platform.out.write(`${text}\n`);
}

function styleOf(platform: Platform) {
  const { colour, columns } = platform.out;
  return makeStyle({ colour, columns, nowMs: platform.nowMs() });
}

function age(text: string): number {
  return duration(text, 0);
}

function grace(text: string): number {
  return duration(text, LEAST_GRACE_MS);
}

function duration(text: string, minMs: number): number {
  try {
    return parseDuration('time', text, { minMs, maxMs: Number.MAX_SAFE_INTEGER });
  } catch {
    throw new InvalidArgumentError(`Expected a length of time such as 12h or 90d${minMs > 0 ? ', 1h at least' : ''}.`);
  }
}
