/** The parts of a run's description (`RunHandle.describe`) that the demo tells about. */
export interface StepStory {
  step: number;
  text: string;
  calls: CallStory[];
}

export interface CallStory {
  callId: string;
  tool: string;
  arguments?: object | string;
  rawArguments?: string;
  state: string;
  /** Starts of the tool's body. */
  starts: number;
  elapsedMs?: number;
  /** `read`, `once`, `idempotent by key`, `idempotent by nature`. */
  effect?: string;
  failure?: { class: string; message: string };
  attempts: AttemptStory[];
}

export interface AttemptStory {
  start: number;
  startedAtMs: number;
  /** Absent where the worker that ran it never reported its end. */
  endedAtMs?: number;
  failure?: Record<string, unknown>;
}

/** Something that went wrong in a call, and what was done about it. */
export interface Trouble {
  callId: string;
  tool: string;
  what: string;
  handling: string;
}

/** All that went wrong in a run, in order. */
export function troublesOf(steps: readonly StepStory[]): Trouble[] {
  return steps.flatMap(({ calls }) => calls).flatMap(troublesOfCall);
}

function troublesOfCall(call: CallStory): Trouble[] {
  const tell = (what: string, handling: string): Trouble => ({ callId: call.callId, tool: call.tool, what, handling });
  if (call.starts === 0 && call.failure) {
    return [tell(`${call.failure.class}, before anything was sent`, toldTheModel(call.failure.message))];
  }
  const groups = groupsOf(call);
  return groups.map((group, at) => {
    const next = call.attempts.find(({ start }) => start > group.last.start);
    if (next) return tell(group.what, startedAgain(call, group, next));
    const isLast = at === groups.length - 1;
    return tell(group.what, isLast && call.failure ? toldTheModel(call.failure.message) : settledOtherwise(call));
  });
}

interface Group {
  what: string;
  class: string;
  last: AttemptStory;
}

/** Starts that failed alike, one after another, are told together. */
function groupsOf(call: CallStory): Group[] {
  const groups: (Group & { count: number; name: string })[] = [];
  for (const attempt of call.attempts) {
    const { error_type: type, upstream_status: status, decision } = attempt.failure ?? {};
    const isLost = decision === 'worker_lost' || (attempt.endedAtMs === undefined && isOver(call));
    if (!attempt.failure && !isLost) continue;
    const failureClass = isLost ? 'lost worker' : typeof type === 'string' ? type : 'failure';
    const name = typeof status === 'number' ? `${failureClass} (HTTP ${status})` : failureClass;
    const former = groups.at(-1);
    if (former?.name === name && former.last.start === attempt.start - 1) {
      former.count += 1;
      former.last = attempt;
      former.what = `${name}, ${former.count} times`;
    } else {
      groups.push({ name, what: name, class: failureClass, last: attempt, count: 1 });
    }
  }
  return groups;
}

function isOver(call: CallStory): boolean {
  return call.state !== 'running' && call.state !== 'waiting';
}

function startedAgain(call: CallStory, group: Group, next: AttemptStory): string {
  const by = call.effect === 'idempotent by key' ? ' with the same key' : '';
  if (group.class === 'lost worker') return `another worker asked again${by}`;
  const waited = next.startedAtMs - (group.last.endedAtMs ?? group.last.startedAtMs);
  const asAsked = group.class === 'rate_limit' ? ', as the shop asked' : '';
  return `asked again${by} after ${duration(waited)}${asAsked}`;
}

function settledOtherwise(call: CallStory): string {
  return call.effect === 'once'
    ? 'not run again: the shop was asked, and had done it'
    : 'its answer was found in the ledger';
}

function toldTheModel(message: string): string {
  return `told the model: ${message}`;
}

/** `8 ms`, `1.9 s` */
export function duration(ms: number): string {
  return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}
