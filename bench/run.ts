/** `npm run bench`: see docs/benchmarks.md. */
import { parseArgs } from 'node:util';
import { compareWithFloor } from './floor-comparison.ts';
import { onStage } from './stage.ts';

const { values } = parseArgs({
  options: { short: { type: 'boolean', default: false }, rounds: { type: 'string' } },
});
const shape = values.short
  ? { rounds: 2, alone: 50, many: { runs: 10, steps: 10 } }
  : { rounds: 5, alone: 500, many: { runs: 50, steps: 20 } };
await onStage((stage) =>
  compareWithFloor(stage, { ...shape, ...(values.rounds && { rounds: Number(values.rounds) }) }),
);
