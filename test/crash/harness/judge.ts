/** The witnesses of one run of a bench, and what the laws make of them. */
import type { CrashBench } from '../support/crash-bench.js';
import { Witnesses, type RunEvidence } from './evidence.js';
import { checkLaws, type Violation } from './laws.js';
import type { Program } from './program.js';
import { checkReplays } from './replays.js';

/** `cancelled`: somebody cancelled it for good. `bundlePath`: the workflows that its workers ran. */
export async function judge(
  bench: CrashBench,
  run: { program: Program; workflowId: string; cancelled: boolean },
  bundlePath: string,
): Promise<{ evidence: RunEvidence; violations: Violation[] }> {
  await using witnesses = await Witnesses.open(bench);
  const evidence = await witnesses.ask(run);
  return { evidence, violations: [...checkLaws(evidence), ...(await checkReplays([evidence], bundlePath))] };
}
