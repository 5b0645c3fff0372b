import type { ResumeRunInput } from '../contract/activities.js';
import type { PinnedRun, ResumedRun, RetryIntervention } from '../contract/intervention.js';
import type { Manifest } from '../contract/manifest.js';
import type { AnsweredCall } from '../contract/call.js';
import type { CarriedRun, RunCounters } from '../contract/run.js';
import { setAsideText } from '../policy/intervention-words.js';
import { newRun } from '../policy/new-run.js';
import { agentsOf, ledgerEffects } from '../policy/ledger-effect.js';
import { planResume } from '../policy/resume-run.js';
import type { ResumePlan, ResumeQuestion } from '../policy/resume-run.js';
import type { CallRecord, RunRecord } from '../store/records.js';
import { notReady } from '../temporal/failure-mapper.js';
import { summarizeManifest } from '../tools/manifest.js';
import { askingExecution, takeRun } from './asking-execution.js';
import { paidCalls, usageOfAgents, usageOfParts } from './run-usage.js';
import type { Services } from './services.js';
import { changedMeanwhileMs, reopening, takenBack } from './reopen-calls.js';
import { manifestFor, startRun } from './start-run.js';

/**
 * Has a run go on from its last good step, under the same identity: rebuilds from the store what the workflow needs, pins
 * today's tools, and gives the failed calls of that step their attempts anew where that is safe. Needs no history. Carried
 * out once for each request, however often it is asked. A run that the store does not have yet (the child of a run that was
 * ended before the child began) starts.
 */
export async function resumeRun(services: Services, input: ResumeRunInput): Promise<ResumedRun> {
  const { store } = services;
  const { runKey, resume } = input;
  const found = await store.getRun(runKey);
  if (!found) return { carried: newRun(await startRun(services, input), await store.now()) };
  const earlier = await store.listInterventions(runKey);
  const known = earlier.find(({ id }) => id === resume.id);
  if (known?.kind === 'retry') return known.resumed;
  // Before anything is read for the plan: from here on, what is left over of the former execution changes nothing.
  await takeRun(services, runKey);

  const [run = found, turns, calls, nowMs] = await Promise.all([
    store.getRun(runKey),
    store.listTurns(runKey),
    store.listCalls(runKey),
    store.now(),
  ]);
  const manifest = await manifestFor(services, input.agent);
  const plan = planAnew(services, input, {
    run,
    turns,
    rows: new Map(calls.map(({ row }) => [row.key, row])),
    effectOf: ledgerEffects(manifest),
    isAgent: agentsOf(manifest),
    nowMs,
  });
  const used = await usageOfParts(store, turns, calls);
  const open = new Set((plan.calls ?? []).flatMap((call) => (call.status === 'settled' ? [] : [call.call.key])));
  const chargedAnew = await usageOfAgents(
    store,
    calls.filter(({ row }) => open.has(row.key)),
  );
  const paid = plan.nextTurn
    ? await paidCalls(store, {
        step: plan.nextTurn.step,
        turns,
        calls,
        reopened: new Set(plan.reopened.map(({ key }) => key)),
      })
    : [];
  const former = earlier.flatMap((each) => (each.kind === 'retry' ? [each] : [])).at(-1);
  const pinned = pinnedAnew(services, input, run);
  // A person has looked at the run: what its guards held against it is forgotten.
  const carried: CarriedRun = {
    ...newRun(
      {
        storeId: store.storeId,
        manifest: summarizeManifest(manifest),
        limits: pinned.limits,
        loopPolicy: pinned.loopPolicy,
        head: plan.head,
        searchAttributes: services.searchAttributes,
        heartbeatTimeoutMs: services.heartbeatTimeoutMs,
      },
      startedAtMs(run, former, nowMs),
    ),
    counters: countersOf({ used, chargedAnew }, run, plan),
    ...(plan.nextTurn ? { nextTurn: plan.nextTurn } : {}),
    ...(paid.length > 0 ? { paid } : {}),
    answered: settledCalls(plan),
  };
  return await record(services, { input, run, plan, calls, manifest, pinned, carried });
}

/**
 * A turn of which a call may have happened meanwhile is not set aside, though it could be when the retry was asked for: the
 * model would not be told of it, and might ask for it in other words.
 */
function planAnew(
  { log }: Services,
  { runKey, resume }: ResumeRunInput,
  question: Omit<ResumeQuestion, 'askAgain'>,
): ResumePlan {
  const askAgain = resume.askAgain === true;
  const plan = planResume({ ...question, askAgain });
  if (plan.undecided.length === 0) return plan;
  log.warn('the model is not asked again: nobody knows whether a call of its last turn happened', {
    run_key: runKey,
    calls: plan.undecided.map(({ callId }) => callId),
  });
  return planResume({ ...question, askAgain: false });
}

async function record(
  services: Services,
  found: {
    input: ResumeRunInput;
    run: RunRecord;
    plan: ResumePlan;
    calls: readonly CallRecord[];
    manifest: Manifest;
    pinned: PinnedRun;
    carried: CarriedRun;
  },
): Promise<ResumedRun> {
  const { input, run, plan, calls, manifest, pinned, carried } = found;
  const { id, by, note, askAgain } = input.resume;
  const tell = setAsideText(plan.setAside);
  const intervention: RetryIntervention = {
    kind: 'retry',
    id,
    by,
    ...(note === undefined ? {} : { note }),
    ...(askAgain ? { askAgain } : {}),
    ...(tell === undefined ? {} : { tell }),
    former: { status: run.status, ...(run.result ? { result: run.result } : {}) },
    ...(run.manifestHash === manifest.hash ? {} : { manifest: { from: run.manifestHash, to: manifest.hash } }),
    reopened: plan.reopened.map(takenBack),
    resumed: {
      carried,
      ...(plan.calls?.some(({ status }) => status !== 'settled') ? { calls: plan.calls } : {}),
      seen: seenSoFar(calls),
      ...(plan.answer === undefined ? {} : { answer: plan.answer }),
    },
  };
  const intervened = await services.store.intervene({
    runKey: run.runKey,
    intervention,
    run: { manifest, pinned, ...askingExecution() },
    ledger: plan.reopened.map(reopening),
  });
  if (intervened.status === 'refused') throw notReady('a call changed while the run was looked at', changedMeanwhileMs);
  const recorded = intervened.intervention;
  if (recorded.kind !== 'retry') throw new TypeError(`${id} is no retry of ${run.runKey}`);
  services.log.info('a run goes on after it ended', {
    run_key: run.runKey,
    by,
    former: run.status,
    rerun: recorded.reopened.map(({ callId }) => callId),
  });
  return recorded.resumed;
}

/** Limits stay what they were unless they were raised; a run of an older version takes today's. */
function pinnedAnew(services: Services, input: ResumeRunInput, run: RunRecord): PinnedRun {
  const { limits = services.limits, model } = run.pinned ?? {};
  const chosen = input.model ?? model;
  return {
    limits: { ...limits, ...input.limits },
    loopPolicy: services.loop,
    ...(chosen === undefined ? {} : { model: chosen }),
    ...(input.agent ? { agent: input.agent } : {}),
  };
}

/** The time between a run's end and its retry is nobody's wall time. */
function startedAtMs(run: RunRecord, former: RetryIntervention | undefined, nowMs: number): number {
  const before = former?.resumed.carried.startedAtMs ?? run.startedAtMs;
  return nowMs - Math.max(0, run.updatedAtMs - before);
}

/**
 * Never less than the run's last end said, except for steps, of which only answered ones count, and for calls that are run
 * again: they reserve their place anew, and those of agents are charged anew, when they end, with all that their runs have
 * used (`chargedAnew`: what the run was charged with for them already).
 */
function countersOf(
  { used, chargedAnew }: { used: RunCounters; chargedAnew: RunCounters },
  run: RunRecord,
  plan: ResumePlan,
): RunCounters {
  const told = run.result?.counters;
  const open = (plan.calls ?? []).filter((call) => call.status !== 'settled');
  const overBudget = plan.reopened.filter(
    ({ outcome }) => outcome && 'failure' in outcome && outcome.failure.class === 'budget_exhausted',
  );
  const tookNoPlace = new Set(overBudget.map(({ call }) => call.callId));
  const reserved = open.filter((call) => !tookNoPlace.has(call.call.callId)).length;
  const soFar = (counter: keyof RunCounters): number =>
    Math.max(0, Math.max(used[counter], told?.[counter] ?? 0) - chargedAnew[counter]);
  return {
    steps: plan.steps,
    calls: Math.max(0, soFar('calls') - reserved),
    inputTokens: soFar('inputTokens'),
    outputTokens: soFar('outputTokens'),
    costUsd: soFar('costUsd'),
    failures: soFar('failures'),
  };
}

function settledCalls({ calls = [] }: ResumePlan): AnsweredCall[] {
  return calls.flatMap((call) => (call.status === 'settled' ? [{ callId: call.callId, key: call.key }] : []));
}

function seenSoFar(calls: readonly CallRecord[]): NonNullable<ResumedRun['seen']> {
  const classes = calls.flatMap(({ row }) =>
    row.outcome && 'failure' in row.outcome ? [row.outcome.failure.class] : [],
  );
  return { tools: [...new Set(calls.map(({ row }) => row.tool))], classes: [...new Set(classes)] };
}
