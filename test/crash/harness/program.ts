/** What a run of the harness does, made from a seed, and what must be true of it when it has ended. */
import type { ScriptedReply } from '../../../src/models/scripted-model.js';
import type { BackendStep } from '../support/oracle.js';
import type { Random } from './random.js';

export const plainTools = ['read', 'keyed', 'nature', 'once', 'once_found', 'once_fenced'] as const;
export type PlainTool = (typeof plainTools)[number];

/** One call and its end where nothing is killed. */
export interface PlannedCall {
  callId: string;
  tool: PlainTool | 'agent';
  /** Unlike any other call's, in all runs. */
  of: string;
  backend: BackendStep[];
  /** Failure class, or status. */
  ended: string;
  starts: number;
  /** How often the backend does the work. */
  effects: number;
  /** What the agent does. */
  child?: Program;
}

export interface Program {
  name: string;
  script: ScriptedReply[];
  calls: PlannedCall[];
  /** Model turns: those with calls, and the one that answers. */
  steps: number;
  /** Calls that the run is charged for, its agents' included. */
  charged: number;
  answer: string;
}

interface Plan {
  steps: BackendStep[];
  ended: string;
  starts: number;
  effects: number;
}

const succeeded = { ended: 'succeeded', starts: 1, effects: 1 };
const runsAgain: readonly string[] = ['read', 'keyed', 'nature'];

/** How the backend meets a call, and how that call ends: the promises of docs/guarantees.md, spelled out by tool. */
function planFor(tool: PlainTool, random: Random): Plan {
  const beforeMs = random.integer(0, 120);
  const afterMs = random.integer(0, 120);
  const kind = random.weighted<BackendStep['answer']>([
    [70, 'ok'],
    [10, 'refuse'],
    [8, '500'],
    [8, 'down'],
    [3, 'silence'],
  ]);
  const steps: BackendStep[] = [{ answer: kind, beforeMs, afterMs }];
  if (kind === 'ok') return { steps, ...succeeded };
  if (kind === 'refuse') return { steps, ended: 'business_rule_violation', starts: 1, effects: 0 };
  const happened = kind === '500' || kind === 'silence';
  if (runsAgain.includes(tool)) {
    return { steps, ended: 'succeeded', starts: 2, effects: happened && tool !== 'keyed' ? 2 : 1 };
  }
  if (tool === 'once_fenced' && !happened) return { steps, ended: 'succeeded', starts: 2, effects: 1 };
  if (tool !== 'once' && happened) return { steps, ended: 'succeeded', starts: 1, effects: 1 };
  return { steps, ended: 'outcome_unknown', starts: 1, effects: happened ? 1 : 0 };
}

export interface Shape {
  /** Steps with calls; default 2 to 5. */
  steps?: number;
  /** Whether calls of agents are among them. Default yes. */
  agents?: boolean;
}

/** A program of its own for each name. `random` is the only chance in it. */
export function makeProgram(name: string, random: Random, shape: Shape = {}): Program {
  const turns = shape.steps ?? random.integer(2, 5);
  const script: ScriptedReply[] = [];
  const calls: PlannedCall[] = [];
  for (let step = 1; step <= turns; step += 1) {
    const planned = stepOf(name, step, random, shape);
    calls.push(...planned);
    script.push({
      delayMs: random.integer(0, 80),
      calls: planned.map(({ tool, of, backend, child }) => ({
        tool,
        input: tool === 'agent' ? { task: JSON.stringify(child?.script) } : { of, backend },
      })),
    } as ScriptedReply);
  }
  const answer = `${name} is done`;
  script.push({ text: answer });
  const charged = calls.reduce((sum, { child }) => sum + 1 + (child?.charged ?? 0), 0);
  return { name, script, calls, steps: turns + 1, charged, answer };
}

function stepOf(name: string, step: number, random: Random, shape: Shape): PlannedCall[] {
  let isUnknown = false;
  return Array.from(
    {
      length: random.weighted([
        [4, 1],
        [3, 2],
        [2, 3],
        [1, 5],
      ] as const),
    },
    (_, index): PlannedCall => {
      const callId = `c${step}.${index}`;
      const of = `${name} ${callId}`;
      if (shape.agents !== false && random.chance(0.12)) {
        const child = makeProgram(of, random, { steps: random.integer(1, 2), agents: false });
        const ended = child.calls.every((call) => call.ended === 'succeeded') ? 'succeeded' : 'partial';
        return { callId, tool: 'agent', of, backend: [], ended, starts: 1, effects: 0, child };
      }
      const tool = random.pick(plainTools);
      const plan = planFor(tool, random);
      const isOnce = !runsAgain.includes(tool);
      // After a once call that nobody knows the end of, the step's later ones are not made.
      const call =
        isOnce && isUnknown
          ? { callId, tool, of, backend: plan.steps, ended: 'skipped', starts: 0, effects: 0 }
          : { callId, tool, of, backend: plan.steps, ended: plan.ended, starts: plan.starts, effects: plan.effects };
      isUnknown ||= isOnce && call.ended === 'outcome_unknown';
      return call;
    },
  );
}

/** A program of given steps, for scenarios that are about one thing. The ends are those of the plans above. */
export function programOf(
  name: string,
  steps: (Pick<PlannedCall, 'tool' | 'ended' | 'starts' | 'effects'> & { backend?: BackendStep[] })[][],
): Program {
  const calls = steps.flatMap((step, turn) =>
    step.map((call, index): PlannedCall => {
      const callId = `c${turn + 1}.${index}`;
      return { ...call, callId, of: `${name} ${callId}`, backend: call.backend ?? [] };
    }),
  );
  const script = steps.map((_, turn) => ({
    calls: calls
      .filter(({ callId }) => callId.startsWith(`c${turn + 1}.`))
      .map(({ tool, of, backend }) => ({ tool, input: { of, backend } })),
  }));
  const answer = `${name} is done`;
  return {
    name,
    script: [...script, { text: answer }] as unknown as ScriptedReply[],
    calls,
    steps: steps.length + 1,
    charged: calls.length,
    answer,
  };
}
