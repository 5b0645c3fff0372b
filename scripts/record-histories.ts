/**
 * Records what workflows of today's shape leave in a history, for `test/replay`: run it where a release changes the shape,
 * under a new prefix, and commit the files. Recorded histories are never recorded anew: they stand for runs in the field.
 *
 *     node --import ./test/typescript-resolver.ts scripts/record-histories.ts [PREFIX]
 *
 * Writes `test/replay/histories/PREFIX-SCENARIO[-N].history.json`, one file for each run of a chain, long ones as `.gz`.
 * Default prefix: `v` and the package's version. Needs a Temporal CLI. Scenarios that have files are left alone; delete
 * those of an unreleased shape first.
 */
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { startDevServer } from '../src/server/dev-server.js';
import { eventsUntilSuggestion, longScenarios, scenarios, type Scenario } from '../test/replay/scenarios.js';
import { openEngine } from '../test/support/engine.js';
import { historiesOf } from '../test/support/run-chain.js';
import { workflowBundleFile } from '../test/support/workflow-bundle.js';

const folder = fileURLToPath(new URL('../test/replay/histories/', import.meta.url));
const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const prefix = process.argv[2] ?? `v${version}`;

await mkdir(folder, { recursive: true });
const present = (await readdir(folder)).map((name) => name.replace(/(-\d+)?\.history\.json(\.gz)?$/, ''));
const missing = Object.entries(scenarios).filter(([name]) => !present.includes(`${prefix}-${name}`));
const isLong = ([name]: [string, Scenario]) => longScenarios.includes(name);
const suggestion = { 'limit.historyCount.suggestContinueAsNew': eventsUntilSuggestion };

await using bundle = await workflowBundleFile();
await record(
  missing.filter((each) => !isLong(each)),
  suggestion,
);
await record(missing.filter(isLong), {});

async function record(wanted: [string, Scenario][], dynamicConfig: Record<string, number>): Promise<void> {
  if (wanted.length === 0) return;
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-record-'));
  const server = await startDevServer({ rootDir, dynamicConfig });
  try {
    for (const [name, scenario] of wanted) {
      await using engine = await openEngine({ ...server, workflowBundle: bundle.path });
      const { workflowId, firstRunId } = await scenario(engine);
      const histories = await historiesOf(engine.client, workflowId, firstRunId);
      for (const [index, history] of histories.entries()) {
        const part = histories.length === 1 ? '' : `-${index + 1}`;
        const file = `${prefix}-${name}${part}.history.json`;
        const text = `${anonymous(historyToJSON(history))}\n`;
        if (isLong([name, scenario])) await writeFile(join(folder, `${file}.gz`), gzipSync(text, { level: 9 }));
        else await writeFile(join(folder, file), text);
        console.log(`recorded ${file} (${history.events?.length ?? 0} events)`);
      }
    }
  } finally {
    await server.stop();
    await rm(rootDir, { recursive: true, force: true });
  }
}

/** One event a line, without the name of the machine that recorded it. */
function anonymous(history: string): string {
  const { events } = JSON.parse(history, (key, value: unknown) => {
    if (key === 'identity') return 'recorded';
    // Frames hold paths of the recording machine, and replaying does not read them.
    return key === 'stackTrace' ? '' : value;
  }) as { events: unknown[] };
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}`;
}
