import type { ReplayWorkerOptions } from '@temporalio/worker';
import { type Divergence, findDivergence } from './find-divergence.js';
import { activityWords, eventWords, type Place, patchId, placeOf, toolOf, wantedWords } from './history-words.js';
import { eventsOf, isClosed, type RecordedExecution } from './recorded-execution.js';
import { ReplayWorker } from './replay-worker.js';

/** How the first event that does not fit is explained to people. */
export interface ReplayFinding extends Place {
  /** Number of the event in the history, as the Temporal UI shows it. */
  eventId: number;
  /** What the history has there. */
  recorded: string;
  /** What today's code wants there instead; absent where it fails by itself, or Temporal does not say. */
  wanted?: string;
  /** Temporal's own sentence, or the code's error. */
  reason: string;
  /** What can be done, the best first. */
  advice: string[];
}

/** One execution, replayed. */
export interface ReplayedExecution {
  id: string;
  executionId: string;
  workflowType: string;
  events: number;
  /** False for an execution that will go on, which a change of the code hits. */
  closed: boolean;
  /** `broken`: the workflow's code fails by itself, or has no such workflow. */
  status: 'replays' | 'diverges' | 'broken';
  finding?: ReplayFinding;
}

/**
 * Replays executions with today's workflow code, one after another, each as soon as it is there. Reads histories and
 * nothing else: no activity runs, nothing is written. Rejects where the code itself cannot be loaded.
 */
export async function* replayExecutions(
  code: Pick<ReplayWorkerOptions, 'workflowBundle' | 'workflowsPath'>,
  executions: AsyncIterable<RecordedExecution> | Iterable<RecordedExecution>,
): AsyncGenerator<ReplayedExecution> {
  await using worker = new ReplayWorker(code);
  for await (const execution of executions) yield replayed(execution, await findDivergence(worker, execution));
}

function replayed(execution: RecordedExecution, divergence: Divergence | undefined): ReplayedExecution {
  const { id, executionId, workflowType } = execution;
  return {
    id,
    executionId,
    workflowType,
    events: eventsOf(execution).length,
    closed: isClosed(execution),
    status: !divergence ? 'replays' : divergence.kind === 'diverged' ? 'diverges' : 'broken',
    ...(divergence && { finding: explain(execution, divergence) }),
  };
}

function explain(execution: RecordedExecution, divergence: Divergence): ReplayFinding {
  const { event, wanted, reason } = divergence;
  const events = eventsOf(execution);
  const index = events.indexOf(event);
  const place = placeOf(events, index, wanted);
  const toolAt = (callId: string): string | undefined => toolOf(events.slice(0, index + 1), callId);
  const instead = wanted ? activityWords(wanted, toolAt(wanted.id)) : wantedWords(reason);
  return {
    ...place,
    eventId: Number(event.eventId ?? index + 1),
    recorded: eventWords(event, place.callId === undefined ? undefined : toolAt(place.callId)),
    ...(divergence.kind === 'diverged' && instead !== undefined && { wanted: instead }),
    reason,
    advice: adviceOf(execution, divergence),
  };
}

function adviceOf(execution: RecordedExecution, { kind, event, reason }: Divergence): string[] {
  const missing = /workflow of type '(.*?)': no such function/.exec(reason)?.[1];
  if (missing !== undefined) {
    return [
      `Export a workflow named ${missing} again: from the file that "workflows" of perdure.config.ts names, which also re-exports perdure/workflow.`,
    ];
  }
  if (kind === 'broken')
    return ['Mend the error in the workflow code; it ends the replay before anything is compared.'];
  const patch = patchId(event);
  const keep =
    patch === undefined
      ? "Put the change behind a patch, so that old runs take the old way: if (patched('my-change')) { new } else { old }."
      : `Keep patched('${patch}') in the code, or deprecatePatch('${patch}'), until no run from before its removal is open.`;
  if (isClosed(execution)) {
    return [keep, 'The execution has ended: as the code is, only a reset or a query of it would fail.'];
  }
  return [
    keep,
    'Or let a worker with the code as it was bring the run to its end.',
    `Or go on from its last good step, under the new code: perdure retry ${execution.id}`,
  ];
}
