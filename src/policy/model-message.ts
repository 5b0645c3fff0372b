import type {
  ClassifiedFailure,
  Failure,
  FailureClass,
  FailureTexts,
  Suggestion,
  Violation,
} from '../contract/failure.js';
import type { ManifestTool } from '../contract/manifest.js';
import { cutToChars } from './cut-text.js';
import { printable } from './printable.js';
import { failureClasses } from './failure-classes.js';
import { fillTemplate, type TemplateValues } from './fill-template.js';
import { fieldOf, orList, plainWords, plural, spokenDuration } from './plain-words.js';

/** About 500 tokens: longer failures are cut, head and tail kept. */
const MESSAGE_CHARS = 2_000;
const REASON_CHARS = 1_200;
const ACTION_CHARS = 600;
/** What is read of a reason at all, after masking and before it is put into plain words. */
const RAW_REASON_CHARS = 16_000;
/** The most that is kept of a reason for `read_artifact`. */
const WHOLE_REASON_CHARS = 1_000_000;
const MAX_NAMES = 40;
const MAX_ALTERNATIVES = 8;
const MAX_PATHS = 20;
const MAX_PATH_CHARS = 80;

/** What the message needs to know besides the failure itself. */
export interface MessageContext {
  tool?: ManifestTool | undefined;
  /** The name that the model used; also where the tool is not known. */
  toolName: string;
  /** Starts of the body; 0 where it never began. */
  attempts: number;
  /** The tool's own texts by class, filled in like ours. */
  messages?: FailureTexts | undefined;
  /** A tool that reads what this one changes. */
  checkTool?: string;
  /** Names of the tools that the run offers, for a name that is not among them. */
  offeredTools?: readonly string[];
  /** What the tool's `suggest` said. */
  suggestion?: Suggestion | undefined;
  /** Masks secrets; applied before anything is cut. */
  redact?: (text: string) => string;
  /** What models are shown of a tool's own name. */
  shownName?: (name: string) => string;
  /** For a person who asks; put into the record too. */
  referenceId?: string;
}

/**
 * Words a failure for the model: `message` says why in a person's words, `suggestedAction` names a tool or a kind of change.
 * Neither holds a class name, a stack, markup or a secret; both are bounded. Never throws.
 */
export function describeFailure(failure: ClassifiedFailure, context: MessageContext): Failure {
  const row = failureClasses[failure.class];
  const values = valuesOf(failure, context);
  const { retryAfterMs } = failure;
  const retryable =
    row.retryable && failure.shouldRetry !== false && (retryAfterMs !== undefined || !row.needsKnownWait);
  const described: Failure = {
    class: failure.class,
    code: failure.code ?? row.code,
    effectState: failure.effectState,
    message: messageText(failure, context, values),
    suggestedAction: actionText(failure, context, values),
    retryable,
  };
  if (retryable && retryAfterMs !== undefined) described.retryAfterMs = retryAfterMs;
  const alternatives = alternativesOf(failure, context);
  if (alternatives.length > 0) described.alternatives = alternatives;
  const actionRequired = row.actionRequired ?? (row.needsKnownWait && !retryable ? 'switch_strategy' : undefined);
  if (actionRequired !== undefined) described.actionRequired = actionRequired;
  if (failure.upstreamStatus !== undefined) described.upstreamStatus = failure.upstreamStatus;
  if (context.referenceId !== undefined) described.referenceId = context.referenceId;
  if (failure.kind !== undefined) described.kind = failure.kind;
  const invalidPaths = invalidPathsOf(failure, context);
  if (invalidPaths.length > 0) described.invalidPaths = invalidPaths;
  return described;
}

function messageText(failure: ClassifiedFailure, context: MessageContext, values: TemplateValues): string {
  if (isVerbatim(failure, context)) return cutToChars(masked(failure.reason, context), MESSAGE_CHARS);
  const said = tidy(fillTemplate(messageTemplate(failure, context), values));
  const note = effectNote(failure, context);
  const whole = note === undefined ? said : `${said}${said.includes('\n') ? '\n' : ' '}${note}`;
  return cutToChars(whole, MESSAGE_CHARS);
}

function messageTemplate(failure: ClassifiedFailure, context: MessageContext): string {
  return context.messages?.[failure.class]?.message ?? failureClasses[failure.class].words.message;
}

/** The failure is what the tool was asked for (`failureOutput: 'verbatim'`): the model gets it as it is. */
export function isVerbatim(failure: ClassifiedFailure, { tool }: MessageContext): boolean {
  return tool?.policy.failureOutput === 'verbatim' && failure.reason !== undefined && isOwnOutput(failure);
}

/**
 * The failure's own words whole, as far as a model may read them, where the message holds only a part; `undefined` where
 * it holds them all, or none. For `read_artifact`.
 */
export function uncutReason(failure: ClassifiedFailure, context: MessageContext): string | undefined {
  if (isVerbatim(failure, context)) return masked(failure.reason, context);
  if (!messageTemplate(failure, context).includes('{reason}')) return undefined;
  const words = speakableReason(failure, context, WHOLE_REASON_CHARS);
  return words !== undefined && words.length > REASON_CHARS ? words : undefined;
}

/** What comes first is done first: a check before anything else, then what the tool itself advises, or the table. */
function actionText(failure: ClassifiedFailure, context: MessageContext, values: TemplateValues): string {
  const own = context.messages?.[failure.class]?.suggestedAction;
  if (own !== undefined) return cutToChars(tidy(fillTemplate(own, values)), ACTION_CHARS);
  const { words, family } = failureClasses[failure.class];
  const template = (writes(context) ? words.suggestedActionForWrites : undefined) ?? words.suggestedAction;
  const advice = tidy(fillTemplate(template, values));
  const hint = plainWords(cutToChars(masked(failure.hint ?? context.suggestion?.hint, context), ACTION_CHARS / 2));
  // Where safety or the run's own defences speak, a hint only follows.
  const ruled = family === 'safety' || family === 'loop';
  const check = mayHaveTakenEffect(failure, context) && failure.class !== 'cancelled';
  const checkFirst = `First check${context.checkTool === undefined ? '' : ` with ${context.checkTool}`} what has been done.`;
  const parts = [
    check ? checkFirst : '',
    hint === undefined || ruled ? advice : '',
    hint === undefined ? '' : `${hint}.`,
  ];
  return cutToChars(parts.filter((part) => part !== '').join(' '), ACTION_CHARS);
}

function valuesOf(failure: ClassifiedFailure, context: MessageContext): TemplateValues {
  const row = failureClasses[failure.class];
  const named = (names: readonly string[]) => names.slice(0, MAX_NAMES).map((name) => cutToChars(printable(name), 100));
  const unknown = failure.class === 'unknown_tool';
  return {
    tool: cutToChars(printable(context.toolName).replace(/\s+/g, ' '), 100) || 'the tool',
    reason: spokenReason(failure, context),
    attempts: context.attempts > 1 ? plural(context.attempts, 'attempt') : undefined,
    wait: row.retryable && failure.retryAfterMs !== undefined ? spokenDuration(failure.retryAfterMs) : undefined,
    status: failure.upstreamStatus === undefined ? undefined : `HTTP ${String(failure.upstreamStatus)}`,
    violations: failure.violations?.length ? listViolations(failure.violations, context) : undefined,
    nearest: unknown ? orList(named(failure.alternatives ?? [])) : undefined,
    tools: unknown ? toolList(named(context.offeredTools ?? []), context.offeredTools?.length ?? 0) : undefined,
    alternatives: unknown ? undefined : orList(alternativesOf(failure, context)),
    check: context.checkTool,
  };
}

function toolList(names: string[], all: number): string {
  return all > names.length ? `${names.join(', ')} and ${String(all - names.length)} more` : names.join(', ');
}

function spokenReason(failure: ClassifiedFailure, context: MessageContext): string | undefined {
  const words = speakableReason(failure, context, RAW_REASON_CHARS);
  return words === undefined ? undefined : cutToChars(words, REASON_CHARS);
}

/** The reason, as far as the model may read it: masked, then cut to what is looked at, then in plain words. */
function speakableReason(failure: ClassifiedFailure, context: MessageContext, maxChars: number): string | undefined {
  // With `errors: 'public'` only words that were written for the model are passed on.
  const ownWords =
    failure.class === 'tool_error' ||
    failureClasses[failure.class].losesAnswer === true ||
    failure.class === 'outcome_unknown';
  if (context.tool?.policy.errors === 'public' && failure.public !== true && ownWords) return undefined;
  if (failure.reason === undefined) return undefined;
  return plainWords(cutToChars(masked(failure.reason, context), maxChars));
}

function masked(text: string | undefined, context: MessageContext): string {
  const shown = printable(text ?? '');
  return context.redact ? context.redact(shown) : shown;
}

/** One line each, all of them as far as the message has room: field, problem, expected format, a correct example. */
function listViolations(violations: Violation[], context: MessageContext): string {
  const lines = violations.map(({ path, problem, expected, example }) => {
    const field = path === '' ? 'the arguments as a whole' : fieldOf(path);
    const said = plainWords(cutToChars(masked(problem, context), 300)) ?? 'not accepted';
    const wanted = expected === '' ? '' : `; expected ${cutToChars(masked(expected, context), 200)}`;
    const shown =
      example === undefined ? '' : `; for example ${cutToChars(masked(JSON.stringify(example), context), 160)}`;
    return `- ${cutToChars(printable(field), 120)}: ${said}${wanted}${shown}`;
  });
  const kept: string[] = [];
  let room = MESSAGE_CHARS - 400;
  for (const line of lines) {
    room -= line.length + 1;
    if (room < 0) break;
    kept.push(line);
  }
  const left = lines.length - kept.length;
  return left === 0 ? kept.join('\n') : `${kept.join('\n')}\n- and ${String(left)} more of the same kind`;
}

/** The model plans its next step by what a failed call may have changed. */
function effectNote(failure: ClassifiedFailure, context: MessageContext): string | undefined {
  if (mayHaveTakenEffect(failure, context)) return 'The call may still have taken effect, in whole or in part.';
  const provedNone = failure.effectState === 'none' && failureClasses[failure.class].family === 'network';
  return provedNone && writes(context) && context.attempts > 0 ? 'Nothing was changed.' : undefined;
}

/** Classes whose own words already say what became of the action. */
const saysItself = new Set<FailureClass>([
  'outcome_unknown',
  'idempotency_mismatch',
  'conflict_in_progress',
  'output_invalid',
  'output_too_large',
]);

function mayHaveTakenEffect(failure: ClassifiedFailure, context: MessageContext): boolean {
  return failure.effectState === 'unknown' && writes(context) && context.attempts > 0 && !saysItself.has(failure.class);
}

/** A tool that is not known is taken to change something, as one is that declares nothing. */
function writes({ tool }: MessageContext): boolean {
  return tool?.policy.effect.kind !== 'read';
}

function alternativesOf(failure: ClassifiedFailure, context: MessageContext): string[] {
  const { shownName = (name: string) => name } = context;
  const names = [
    ...(failure.alternatives ?? []),
    ...(context.suggestion?.alternatives ?? []),
    ...(context.tool?.alternatives ?? []),
  ].map(shownName);
  const unique = [...new Set(names.filter((name) => name !== '' && name !== context.toolName))];
  return unique.slice(0, MAX_ALTERNATIVES).map((name) => cutToChars(masked(name, context), 200));
}

/** A path may hold a name that the model made up, and so anything: masked and cut like everything else that it wrote. */
function invalidPathsOf(failure: ClassifiedFailure, context: MessageContext): string[] {
  const paths = (failure.violations ?? []).map(({ path }) => cutToChars(masked(path, context), MAX_PATH_CHARS));
  return [...new Set(paths)].slice(0, MAX_PATHS);
}

function isOwnOutput(failure: ClassifiedFailure): boolean {
  return failure.class === 'tool_error' || failure.class === 'business_rule_violation' || failure.kind !== undefined;
}

function tidy(text: string): string {
  return text.replace(/[ \t]+/g, ' ').trim();
}
