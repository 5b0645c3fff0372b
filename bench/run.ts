/** `npm run bench`; what it measures, and the figures, are in docs/benchmarks.md. */
import { parseArgs } from 'node:util';
import { compareWithFloor } from './floor-comparison.ts';
import { measureLongRun } from './long-run.ts';
import { measurePostgresWorkers } from './postgres-workers.ts';
import { measureRecovery } from './recovery.ts';
import { onStage } from './stage.ts';
import { measureWaitingRuns } from './waiting-runs.ts';

const usage = `npm run bench -- [--short]             perdure against the floor
                --long [--steps N]     one run of 10,000 steps
                --waiting [--runs N]   1,000 runs that wait at once on one worker
                --recovery [--kills N] from SIGKILL to the next step
                --postgres-workers [--runs N] [--steps N]
                                       ten workers on one PostgreSQL store, 80 runs at once of 20 steps
--rounds N of the comparison; BENCH_LOG=1 shows the workers' log; BENCH_PROFILE=DIR writes CPU profiles.`;

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    long: { type: 'boolean', default: false },
    steps: { type: 'string' },
    waiting: { type: 'boolean', default: false },
    runs: { type: 'string' },
    recovery: { type: 'boolean', default: false },
    kills: { type: 'string', default: '10' },
    'postgres-workers': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const full = { rounds: 5, alone: 500, many: { runs: 50, steps: 20 } };
const short = { rounds: 2, alone: 50, many: { runs: 10, steps: 10 } };

if (values.help) console.log(usage);
else if (values.long) await onStage((stage) => measureLongRun(stage, count('steps', values.steps ?? '10000')));
else if (values.waiting) await onStage((stage) => measureWaitingRuns(stage, count('runs', values.runs ?? '1000')));
else if (values.recovery) await onStage((stage) => measureRecovery(stage, count('kills', values.kills)));
else if (values['postgres-workers']) {
  const runs = count('runs', values.runs ?? '80');
  const steps = count('steps', values.steps ?? '20');
  await onStage((stage) => measurePostgresWorkers(stage, { workers: 10, runs, steps }));
} else {
  const shape = values.short ? short : full;
  const rounds = values.rounds === undefined ? shape.rounds : count('rounds', values.rounds);
  await onStage((stage) => compareWithFloor(stage, { ...shape, rounds }));
}

function count(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`--${option}: expected a whole number above 0, got ${text}`);
}
