import type { ClassifiedFailure } from '../contract/failure.js';
import { classifyThrown, isControl } from '../policy/classify-thrown.js';
import { fieldOf } from '../policy/plain-words.js';
import { normalizeResult } from '../results/normalize-result.js';
import type { NormalizedResult } from '../results/normalized-result.js';
import type { Attempt } from './attempt.js';
import type { BodyEnd } from './run-body.js';
import type { Services } from './services.js';

export type Judgement =
  { kind: 'succeeded'; result: NormalizedResult } | { kind: 'failed'; failure: ClassifiedFailure; thrown?: unknown };

/**
 * What a body's end means: a result that is one, or a failure of a class. A returned refusal, a result that breaks its
 * schema and one too large to keep are failures like a thrown one. Control flow of the SDK is thrown on untouched.
 */
export async function judgeEnd(services: Services, attempt: Attempt, end: BodyEnd): Promise<Judgement> {
  switch (end.kind) {
    case 'returned':
      return await judgeResult(services, attempt, end.value);
    case 'threw':
      return { kind: 'failed', failure: judgeThrown(attempt, end.thrown, end.interruption), thrown: end.thrown };
    case 'running':
      return { kind: 'failed', failure: interruptedFailure(end.interruption, attempt.tool.policy.timeoutMs) };
  }
}

async function judgeResult(services: Services, attempt: Attempt, value: unknown): Promise<Judgement> {
  const { live, tool } = attempt;
  const declared = declaredFailure(services, attempt, value);
  if (declared) return { kind: 'failed', failure: declared };
  const result = await normalizeResult(value, { maxBytes: tool.policy.maxOutputBytes, source: live.source });
  if (result.failure) {
    const { thrown } = result.failure;
    return { kind: 'failed', failure: judgeThrown(attempt, thrown, undefined), thrown };
  }
  if (result.tooLarge !== undefined) {
    const failure: ClassifiedFailure = { class: 'output_too_large', effectState: 'done', reason: result.tooLarge };
    return { kind: 'failed', failure };
  }
  if (tool.outputSchema && !result.partial && result.emptyReason === undefined) {
    const checked = await services.validator.validate({
      schema: tool.outputSchema,
      input: { value: result.json },
      coerce: false,
    });
    if (!checked.ok) return { kind: 'failed', failure: outputInvalid(checked.failure) };
  }
  return { kind: 'succeeded', result: maskedResult(services, result) };
}

/** How many violations of an output schema are told: the model can mend none of them. */
const toldViolations = 3;

function outputInvalid({ reason, violations = [] }: ClassifiedFailure): ClassifiedFailure {
  const said = violations
    .slice(0, toldViolations)
    .map(({ path, problem }) => (path === '' ? `the result ${problem}` : `${fieldOf(path)} ${problem}`));
  const more = violations.length > toldViolations ? [`${violations.length - toldViolations} more`] : [];
  const words = violations.length > 0 ? [...said, ...more].join('; ') : reason;
  return { class: 'output_invalid', effectState: 'done', ...(words === undefined ? {} : { reason: words }) };
}

/** A result as it may be stored, put into a history and shown to a model: checked as it was, without its secrets after. */
export function maskedResult({ redactor }: Services, result: NormalizedResult): NormalizedResult {
  return { ...result, json: redactor.json(result.json), notes: result.notes.map((note) => redactor.text(note)) };
}

/** A tool's `isFailure`; one that throws is a bug of the tool, after its work was done. */
function declaredFailure(services: Services, attempt: Attempt, value: unknown): ClassifiedFailure | undefined {
  const { live, tool } = attempt;
  if (!live.isFailure) return undefined;
  let declared: ReturnType<typeof live.isFailure>;
  try {
    declared = live.isFailure(value);
  } catch (error) {
    services.log.warn('isFailure failed', { tool: tool.name, error: String(error) });
    return { class: 'tool_bug', effectState: 'unknown', reason: 'its result could not be judged' };
  }
  if (!declared) return undefined;
  const { effect = 'none', message, class: failureClass, ...rest } = declared;
  return { ...rest, class: failureClass, effectState: effect, reason: message, public: true };
}

function judgeThrown(attempt: Attempt, thrown: unknown, interruption: BodyEnd['interruption']): ClassifiedFailure {
  const { live, args, tool } = attempt;
  const classified = classifyThrown(thrown, {
    nowMs: Date.now(),
    source: live.source,
    argumentNames: Object.keys(args),
    ...(interruption === 'deadline' || interruption === 'cancelled' ? { aborted: interruption } : {}),
  });
  if (isControl(classified)) {
    // The SDK's own cancellation, thrown by a tool that waits on it, is how an interruption looks from inside.
    if (interruption !== undefined) return interruptedFailure(interruption, tool.policy.timeoutMs);
    throw thrown;
  }
  // What the tool itself said wins; else a body that was told to stop has simply run out of its time.
  if (interruption === undefined || classified.public || saysItself(thrown)) return classified;
  return interruptedFailure(interruption, tool.policy.timeoutMs);
}

function saysItself(thrown: unknown): boolean {
  return typeof thrown === 'object' && thrown !== null && 'perdureToolError' in thrown;
}

function interruptedFailure(interruption: BodyEnd['interruption'], timeoutMs: number): ClassifiedFailure {
  if (interruption === 'cancelled') return { class: 'cancelled', effectState: 'unknown' };
  if (interruption === 'stopping') {
    return { ...lostWorker(), reason: 'the worker was stopped in the middle of the call' };
  }
  return { class: 'timeout', effectState: 'unknown', reason: `no answer within ${timeoutMs / 1000} s` };
}

/** A worker that was lost in mid-body counts as a timeout, so that a tool which kills its worker still ends. */
export function lostWorker(): ClassifiedFailure {
  return { class: 'timeout', effectState: 'unknown', reason: 'the worker was lost in the middle of the call' };
}
