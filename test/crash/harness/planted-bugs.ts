/** Bugs that a durable executor could have, as changes of the sources, and the law that each must be caught by. */
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { repository } from '../support/crash-bench.js';
import type { Law } from './laws.js';
import {
  attemptedTwiceAtOnce,
  cancelledAtContinueAsNew,
  continuedAsNew,
  failing,
  killedAt,
  resetAfterwards,
  undisturbed,
  wokenAfterwards,
  type Scenario,
} from './scenarios.js';

export interface PlantedBug {
  name: string;
  /** Each `from` stands exactly once in `src`. */
  edits: { from: string; to: string }[];
  /** Whether it is in what the workflow replays. */
  inWorkflow?: true;
  scenario: keyof typeof scenarios;
  law: Law;
}

/** Each is run with the bugs that it is for, and once without any. */
export const scenarios = {
  'a keyed call whose worker dies with the answer': killedAt('answered', 'keyed', {
    ended: 'succeeded',
    starts: 2,
    effects: 1,
  }),
  'a once call whose worker dies with the answer': killedAt('answered', 'once', {
    ended: 'outcome_unknown',
    starts: 1,
    effects: 1,
  }),
  'two live attempts of one call, both wanted': attemptedTwiceAtOnce('once'),
  'a worker that wakes up with an answer when the run has ended': wokenAfterwards('once'),
  'a backend that fails each time': failing('keyed', { ended: 'server_error', starts: 2, effects: 1 }),
  'two calls at once and one after them': undisturbed('keyed', 'read'),
  'a run that has ended and is reset': resetAfterwards('once'),
  'a run that is continued as new': continuedAsNew,
  'a run that is cancelled as it continues as new': cancelledAtContinueAsNew,
} satisfies Record<string, Scenario>;

export const plantedBugs: PlantedBug[] = [
  {
    name: 'the number of the attempt is part of the key that the backend gets',
    edits: [{ from: 'idempotencyKey: call.key,', to: 'idempotencyKey: `${call.key}-${options.attempt}`,' }],
    scenario: 'a keyed call whose worker dies with the answer',
    law: 'E',
  },
  {
    name: 'the ledger has a start only when its body has ended',
    edits: [
      {
        from: "return { write: begun, verdict: { type: 'accepted', row: begun } };",
        to: "return { verdict: { type: 'accepted', row: begun } };",
      },
    ],
    scenario: 'a once call whose worker dies with the answer',
    law: 'N',
  },
  {
    name: 'a claim counts without its token and its lease',
    edits: [
      {
        from: 'const holds = row.token === event.token && nowMs <= row.leaseUntilMs && !row.begun;',
        to: 'const holds = true;',
      },
    ],
    scenario: 'two live attempts of one call, both wanted',
    law: 'N',
  },
  {
    name: 'a claim is given back, as though nothing had happened, while its body runs',
    edits: [
      {
        from: "withoutHolder(spend(row, nowMs), 'unknown')",
        to: "withoutHolder(spend(row, nowMs), 'none')",
      },
    ],
    scenario: 'a once call whose worker dies with the answer',
    law: 'N',
  },
  {
    name: 'a late result overwrites the outcome that was told',
    edits: [{ from: 'if (row.outcome || (row.token !== token && !anyReader))', to: 'if (false)' }],
    scenario: 'a worker that wakes up with an answer when the run has ended',
    law: 'P',
  },
  {
    name: 'a once call whose answer was lost is run again',
    edits: [
      { from: "if (effect.kind === 'once') return true;", to: "if (effect.kind === 'once') return false;" },
      { from: "case 'once':\n      return false;", to: "case 'once':\n      return true;" },
    ],
    scenario: 'a once call whose worker dies with the answer',
    law: 'N',
  },
  {
    name: 'a failing call is started again without end',
    edits: [{ from: "if (starts >= mostStarts) return refuse('attempts_spent');", to: '' }],
    scenario: 'a backend that fails each time',
    law: 'B',
  },
  {
    name: 'an outcome is told under the key of another call',
    edits: [
      {
        from: 'resumed?.answered(outcomes) ?? outcomes.map(answeredCall);',
        to: 'outcomes.map((outcome) => ({ ...answeredCall(outcome), key: outcomes[0]!.key }));',
      },
    ],
    inWorkflow: true,
    scenario: 'two calls at once and one after them',
    law: 'P',
  },
  {
    name: 'keys are made of the execution, which a reset gives another name',
    edits: [{ from: 'const runKey = input.runKey ?? info.firstExecutionRunId;', to: 'const runKey = info.runId;' }],
    inWorkflow: true,
    scenario: 'a run that has ended and is reset',
    law: 'K',
  },
  {
    name: 'continue-as-new loses the answers that the model has not seen',
    edits: [
      {
        from: 'carry(): CarriedRun {\n    return this.#state;',
        to: 'carry(): CarriedRun {\n    return { ...this.#state, answered: [] };',
      },
    ],
    inWorkflow: true,
    scenario: 'a run that is continued as new',
    law: 'P',
  },
  {
    name: 'continue-as-new loses the request to cancel that came meanwhile',
    edits: [
      {
        from: 'so that a cancelled run leaves no call without its outcome.\n    run.throwIfCancelled();',
        to: 'so that a cancelled run leaves no call without its outcome.',
      },
    ],
    inWorkflow: true,
    scenario: 'a run that is cancelled as it continues as new',
    law: 'C',
  },
  {
    name: 'continue-as-new counts the step once more',
    edits: [
      {
        from: 'carry(): CarriedRun {\n    return this.#state;',
        to: 'carry(): CarriedRun {\n    const { counters } = this.#state;\n    return { ...this.#state, counters: { ...counters, steps: counters.steps + 1 } };',
      },
    ],
    inWorkflow: true,
    scenario: 'a run that is continued as new',
    law: 'S',
  },
  {
    name: 'a step is counted twice when the workflow is replayed',
    edits: [
      {
        from: 'Math.max(this.#state.counters.steps, step);',
        to: 'Math.max(this.#state.counters.steps, step) + (workflowInfo().unsafe.isReplaying ? 1 : 0);',
      },
      {
        from: "import { CancellationScope } from '@temporalio/workflow';\nimport type { CallModelInput",
        to: "import { CancellationScope, workflowInfo } from '@temporalio/workflow';\nimport type { CallModelInput",
      },
    ],
    inWorkflow: true,
    scenario: 'two calls at once and one after them',
    law: 'R',
  },
];

const copied = ['src', 'test/crash/support', 'test/support', 'test/typescript-resolver.ts', 'package.json'];

/** A copy of the sources with these changes. Throws where what one changes is not there, or more than once. */
export async function plantEdits(edits: PlantedBug['edits']): Promise<{ sources: URL } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-planted-'));
  const root = fileURLToPath(repository);
  for (const path of copied) await cp(join(root, path), join(folder, path), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const edit of edits) await change(join(folder, 'src'), edit);
  return {
    sources: pathToFileURL(`${folder}/`),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function change(folder: string, { from, to }: PlantedBug['edits'][number]): Promise<void> {
  const found: string[] = [];
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const path = join(folder, file);
    const text = await readFile(path, 'utf8');
    const times = text.split(from).length - 1;
    found.push(...Array.from({ length: times }, () => file));
    if (times === 1)
      await writeFile(
        path,
        text.replace(from, () => to),
      );
  }
  if (found.length !== 1) {
    throw new Error(`a planted bug changes ${JSON.stringify(from)}, which stands ${found.length} times in src`);
  }
}
