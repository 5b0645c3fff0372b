import type { StartRunInput } from '../contract/activities.js';
import type { Manifest } from '../contract/manifest.js';
import type { PinnedRun } from '../contract/intervention.js';
import { ledgerEffects } from '../policy/ledger-effect.js';
import { planRestart } from '../policy/resume-run.js';
import type { RunRecord } from '../store/records.js';
import { notReady } from '../temporal/failure-mapper.js';
import { askingExecution, takeRun } from './asking-execution.js';
import { changedMeanwhileMs, reopening, takenBack } from './reopen-calls.js';
import type { Services } from './services.js';

/**
 * An agent's run that was cancelled and is started again under its own key: a reset of its parent did that, since the outcome
 * of a call that a person cancelled keeps its agent from being started. What the cancellation stopped runs again where that
 * is safe; what it may have left behind keeps its outcome. Carried out once for each execution.
 */
export async function restartAgent(
  services: Services,
  input: StartRunInput,
  former: { run: RunRecord; manifest: Manifest; pinned: PinnedRun },
): Promise<void> {
  const { store } = services;
  const { runKey } = input;
  const { manifest, pinned } = former;
  const { by } = askingExecution();
  if (!input.agent || !by || former.run.status !== 'cancelled' || former.run.endedBy === by.runId) return;
  await takeRun(services, runKey);
  const [run = former.run, turns, calls, nowMs] = await Promise.all([
    store.getRun(runKey),
    store.listTurns(runKey),
    store.listCalls(runKey),
    store.now(),
  ]);
  const rows = new Map(calls.map(({ row }) => [row.key, row]));
  const reopened = planRestart({ run, turns, rows, effectOf: ledgerEffects(manifest), nowMs });
  const intervened = await store.intervene({
    runKey,
    intervention: { kind: 'restart', id: `restart/${by.runId}`, by: 'reset', reopened: reopened.map(takenBack) },
    run: { manifest, pinned, by },
    ledger: reopened.map(reopening),
  });
  if (intervened.status === 'refused') throw notReady('a call changed while the run was looked at', changedMeanwhileMs);
}
