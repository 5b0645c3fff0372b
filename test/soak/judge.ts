/** What the soak must have kept, and the figures that it prints. */
import type { FailureClass } from '../../src/contract/failure.js';
import type { Outcome } from '../../src/contract/call.js';
import { failureClasses, isFailureClass } from '../../src/policy/failure-classes.js';
import type { CallRecord } from '../../src/store/records.js';
import { toolDefaults } from '../../src/tools/tool-policy.js';
import type { Seen } from './backend-process.js';
import { callsPerRun, callsPerTurn, planCall } from './soak-plan.js';

export interface SoakFacts {
  seed: number;
  calls: number;
  workers: number;
  elapsedMs: number;
  records: CallRecord[];
  seen: Seen[];
  /** Answers in the conversation, by run and call id. */
  answers: ReadonlyMap<string, number>;
}

/** What happened to one class. */
export interface ClassFigures {
  /** Requests that the backend failed so on purpose. */
  injected: number;
  /** Starts of bodies that ended so. */
  attempts: number;
  /** Calls in which a start ended so, and that succeeded all the same. */
  recovered: number;
  /** Calls whose outcome it is. */
  outcomes: number;
}

export interface SoakReport {
  seed: number;
  workers: number;
  elapsedMs: number;
  calls: number;
  succeeded: number;
  starts: number;
  retries: number;
  requests: number;
  effects: number;
  doubleEffects: number;
  classes: Map<FailureClass, ClassFigures>;
  /** What must not be; empty where all is well. */
  problems: string[];
}

export function judge(facts: SoakFacts): SoakReport {
  const { records, seen, seed } = facts;
  const byNumber = new Map(seen.map((call) => [call.n, call]));
  const calls = records
    .filter(({ row }) => row.tool !== 'leave_folder')
    .map((record) => ({ record, n: numberOf(record) }));
  const problems = [
    ...(calls.length === facts.calls ? [] : [`${facts.calls} calls were planned, ${calls.length} are in the ledger`]),
    ...records.flatMap((record) => unanswered(record, facts.answers)),
    ...calls.flatMap(({ record, n }) => [...overPolicy(record), ...notWhatWasSeen(record, byNumber.get(n))]),
    ...seen.flatMap(doubled),
    ...overRetryBudget(records, facts.elapsedMs),
  ];
  const starts = sum(records, ({ row }) => row.starts);
  return {
    ...facts,
    calls: calls.length,
    succeeded: records.filter(({ row }) => row.outcome?.status === 'succeeded').length,
    starts,
    retries: sum(records, ({ row }) => Math.max(0, row.starts - 1)),
    requests: sum(seen, ({ requests }) => requests),
    effects: sum(seen, ({ effects }) => effects),
    doubleEffects: sum(seen, ({ effects }) => Math.max(0, effects - 1)),
    classes: classesOf(records, seen, seed),
    problems,
  };
}

/** The call's number in the plan: calls of a run are in the plan's order. */
function numberOf({ row }: CallRecord): number {
  const run = Number(row.runKey.split('-').at(-1));
  const [step, index] = row.callId.slice(1).split('.').map(Number) as [number, number];
  return run * callsPerRun + (step - 1) * callsPerTurn + index;
}

function unanswered({ row, rendered }: CallRecord, answers: ReadonlyMap<string, number>): string[] {
  const name = `${row.runKey} ${row.callId}`;
  if (!row.outcome || !rendered) return [`${name} has no outcome`];
  // What ends the run is told to nobody: there is no turn after it.
  const told = answers.get(name) ?? 0;
  return told === (row.tool === 'leave_folder' ? 0 : 1) ? [] : [`${name} was answered ${told} times`];
}

/** Starts that ended with a class, against what the table allows of it. */
function overPolicy({ row, attempts }: CallRecord): string[] {
  const ends = attempts.flatMap(({ failure }) =>
    isFailureClass(failure?.['error_type']) ? failure['error_type'] : [],
  );
  return [...new Set(ends)].flatMap((failureClass) => {
    const { maxAttempts } = failureClasses[failureClass];
    const times = ends.filter((each) => each === failureClass).length;
    if (maxAttempts === 'budget' || times <= maxAttempts) return [];
    return [`${row.runKey} ${row.callId} met ${failureClass} ${times} times, ${maxAttempts} are allowed`];
  });
}

/** The ledger against the backend's own count. */
function notWhatWasSeen({ row }: CallRecord, seen: Seen | undefined): string[] {
  const name = `${row.runKey} ${row.callId} (${row.tool})`;
  const { requests = 0, effects = 0, keys = [] } = seen ?? {};
  const problems: string[] = [];
  if (row.starts !== requests) problems.push(`${name} was started ${row.starts} times, and asked ${requests} times`);
  if (keys.some((key) => key !== row.key)) problems.push(`${name} sent keys of other calls: ${keys.join()}`);
  const hasEffect = row.tool !== 'look_up' && row.tool !== 'fragile';
  const state = effectStateOf(row.outcome);
  if (hasEffect && state === 'done' && effects !== 1)
    problems.push(`${name} is told as done, and had ${effects} effects`);
  if (state === 'none' && effects > 0) problems.push(`${name} is told as not done, and had ${effects} effects`);
  return problems;
}

function effectStateOf(outcome: Outcome | undefined): 'none' | 'done' | 'unknown' {
  if (!outcome || outcome.status === 'pending') return 'unknown';
  return 'failure' in outcome ? outcome.failure.effectState : 'done';
}

function doubled({ n, tool, effects }: Seen): string[] {
  return effects > 1 ? [`call ${n} of ${tool} had ${effects} effects`] : [];
}

function overRetryBudget(records: CallRecord[], elapsedMs: number): string[] {
  const { tokens, perSuccess, perMinute } = toolDefaults.retryBudget;
  return [...new Set(records.map(({ row }) => row.tool))].flatMap((tool) => {
    const own = records.filter(({ row }) => row.tool === tool);
    const retries = sum(own, ({ row }) => Math.max(0, row.starts - 1));
    const succeeded = own.filter(({ row }) => row.outcome?.status === 'succeeded').length;
    const allowed = tokens + succeeded * perSuccess + Math.ceil(elapsedMs / 60_000) * perMinute;
    return retries <= allowed ? [] : [`${tool} had ${retries} retries, its budget allows ${allowed}`];
  });
}

function classesOf(records: CallRecord[], seen: Seen[], seed: number): SoakReport['classes'] {
  const classes = new Map<FailureClass, ClassFigures>();
  const add = (failureClass: FailureClass, figure: keyof ClassFigures, count = 1): void => {
    const figures = classes.get(failureClass) ?? { injected: 0, attempts: 0, recovered: 0, outcomes: 0 };
    figures[figure] += count;
    classes.set(failureClass, figures);
  };
  for (const { n, faults } of seen) {
    const { fault } = planCall(seed, n);
    if (fault && faults > 0) add(fault.class, 'injected', faults);
  }
  for (const { row, attempts } of records) {
    const met = attempts.flatMap(({ failure }) =>
      isFailureClass(failure?.['error_type']) ? failure['error_type'] : [],
    );
    for (const failureClass of met) add(failureClass, 'attempts');
    if (row.outcome?.status === 'succeeded') new Set(met).forEach((failureClass) => add(failureClass, 'recovered'));
    if (row.outcome && 'failure' in row.outcome) add(row.outcome.failure.class, 'outcomes');
  }
  return classes;
}

/** The report as Markdown: one line of figures, and what happened to each class, in the table's order. */
export function describeReport(report: SoakReport): string {
  const { calls, workers, seed, elapsedMs, succeeded, starts, retries, requests, effects, doubleEffects } = report;
  const rows = (Object.keys(failureClasses) as FailureClass[]).flatMap((failureClass) => {
    const figures = report.classes.get(failureClass);
    if (!figures) return [];
    const { injected, attempts, recovered, outcomes } = figures;
    return [`| \`${failureClass}\` | ${injected} | ${attempts} | ${recovered} | ${outcomes} |`];
  });
  return [
    `${calls} calls, ${workers} workers, seed ${seed}, ${(elapsedMs / 1_000).toFixed(0)} s: ${succeeded} succeeded; ` +
      `${starts} starts, of which ${retries} retries; ${requests} requests seen by the backend; ` +
      `${effects} effects, ${doubleEffects} of them double.`,
    '',
    '| class | requests failed so | starts ended so | calls that got over it | calls ended so |',
    '| --- | --: | --: | --: | --: |',
    ...rows,
    '',
    report.problems.length === 0 ? 'Nothing is wrong.' : `${report.problems.length} problems:`,
    ...report.problems.map((problem) => `- ${problem}`),
  ].join('\n');
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
