import type { EffectState } from '../contract/effect.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import { failureClasses, isFailureClass } from './failure-classes.js';
import { retryAfterFromHeaders } from './retry-after.js';
import { fromIssues, headersOn, strongEvidence, textOf, weakEvidence, type Evidence } from './thrown-evidence.js';
import {
  allNodes,
  isArray,
  elements,
  jsonOf,
  nameOf,
  read,
  readNumber,
  readText,
  thrownTree,
  type ThrownNode,
} from './thrown-shape.js';

export interface ThrownContext {
  nowMs: number;
  /** Who threw: `http` is perdure's own single request; `function` and `mcp` may have sent several. */
  source: 'function' | 'http' | 'mcp' | 'builtin' | 'model';
  /** Whether anything was written to the backend, where the source knows. */
  sent?: boolean;
  /** Why the attempt's own signal fired, where it did: an abort that the tool reports is then explained. */
  aborted?: 'deadline' | 'cancelled';
  /** Names of the call's arguments: they tell a schema that refused one from a schema that refused something else. */
  argumentNames?: readonly string[];
}

/** `control`: not a failure but a pause or an end that must be thrown on untouched. */
export type ClassifiedThrown = { control: true } | ClassifiedFailure;

export function isControl(classified: ClassifiedThrown): classified is { control: true } {
  return 'control' in classified;
}

/**
 * Classifies anything that was thrown. Causes and aggregated errors are looked through, bounded; an explicit word
 * (`ToolError`, a non-retryable mark) wins over what is inferred, wherever in the tree it stands; of errors side by side one
 * that may pass is enough. What nothing explains is a `tool_error`, which is not run again.
 *
 * Pure and total: reads properties only, survives getters that throw, and never throws itself.
 */
export function classifyThrown(thrown: unknown, context: ThrownContext): ClassifiedThrown {
  const tree = thrownTree(thrown);
  if (isControlFlow(tree)) return { control: true };
  const nodes = allNodes(tree);
  const mark = nodes.findIndex((node) => read(node.thing, 'nonRetryable') === true);
  const explicit = nodes.findIndex((node) => read(node.thing, 'perdureToolError') === true);
  const marked = mark >= 0 && (explicit < 0 || mark < explicit);
  const failure =
    explicit >= 0
      ? fromToolError(nodes[explicit]?.thing)
      : marked
        ? fromMark(nodes[mark]?.thing, tree)
        : inferred(tree, context);
  if (marked) failure.shouldRetry = false;
  return withDelay(failure, nodes, context.nowMs);
}

/**
 * Pauses, cancellations and ends, recognised by name because the packages that define them must not be imported here.
 * What another workflow ended with (`WorkflowFailedError` and its cause) is that workflow's matter, not this one's.
 */
const controlNames = new Set([
  'CancelledFailure',
  'ContinueAsNew',
  'TerminatedFailure',
  'CompleteAsyncError',
  'ApprovalRequired',
  'ApprovalRequiredError',
  'ApprovalRequiredSignal',
  'GraphInterrupt',
  'NodeInterrupt',
]);
const otherWorkflow = new Set(['WorkflowFailedError', 'WorkflowUpdateFailedError', 'NexusOperationFailure']);

function isControlFlow(node: ThrownNode): boolean {
  const name = nameOf(node.thing);
  if (otherWorkflow.has(name)) return false;
  if (controlNames.has(name) || read(node.thing, 'perdureControl') === true) return true;
  return [...node.causes, ...node.parts].some(isControlFlow);
}

function fromToolError(thing: unknown): ClassifiedFailure {
  const failureClass = read(thing, 'class');
  const effect = read(thing, 'effect');
  const failure: ClassifiedFailure = {
    class: isFailureClass(failureClass) ? failureClass : 'tool_error',
    effectState: effect === 'none' || effect === 'done' ? effect : 'unknown',
  };
  const publicMessage = readText(thing, 'publicMessage');
  const message = textOf(thing);
  if (publicMessage !== undefined) failure.reason = publicMessage;
  else if (message !== '' && message !== failureClass) failure.reason = message;
  if (publicMessage !== undefined) failure.public = true;
  const hint = readText(thing, 'hint');
  if (hint !== undefined) failure.hint = hint;
  const alternatives = read(thing, 'alternatives');
  if (isArray(alternatives)) {
    failure.alternatives = elements(alternatives).filter((name): name is string => typeof name === 'string');
  }
  const retryAfterMs = readNumber(thing, 'retryAfterMs');
  if (retryAfterMs !== undefined && retryAfterMs >= 0) failure.retryAfterMs = Math.ceil(retryAfterMs);
  return failure;
}

/** Temporal's non-retryable ApplicationFailure. Its type is our class where somebody set it so, else only a name. */
function fromMark(thing: unknown, tree: ThrownNode): ClassifiedFailure {
  const type = read(thing, 'type');
  const reason = wordsOf(tree);
  return {
    class: isFailureClass(type) ? type : 'tool_error',
    effectState: 'unknown',
    ...(reason === '' ? {} : { reason }),
  };
}

function inferred(tree: ThrownNode, context: ThrownContext): ClassifiedFailure {
  const found = weigh(tree, context) ?? { class: 'tool_error' as const };
  const { unsent, answer, abort, ...evidence } = explainAbort(found, context);
  const failure: ClassifiedFailure = {
    ...evidence,
    effectState: effectOf({ ...evidence, unsent, answer, abort } as Evidence, context),
  };
  if (failure.class === 'tool_error' && failure.reason === undefined) {
    const words = wordsOf(tree);
    if (words !== '') failure.reason = words;
  }
  return failure;
}

/** Strong evidence from the outside in, then weak. Among parts side by side, what may pass outranks what will not. */
function weigh(node: ThrownNode, context: ThrownContext): Evidence | undefined {
  return strongest(node, context) ?? weakest(node);
}

function strongest(node: ThrownNode, context: ThrownContext): Evidence | undefined {
  const own = fromIssues(node.thing, context.argumentNames) ?? strongEvidence(node.thing, context.nowMs);
  if (node.parts.length === 0) return own ?? firstOf(node.causes, (cause) => strongest(cause, context));
  // A part that only weakly looks like the network still may pass.
  const parts = node.parts.flatMap((part) => weigh(part, context) ?? []);
  const candidates = own ? [own, ...parts] : parts;
  return candidates.find(mayPass) ?? candidates[0] ?? firstOf(node.causes, (cause) => strongest(cause, context));
}

function mayPass(evidence: Evidence): boolean {
  return failureClasses[evidence.class].family === 'network';
}

function weakest(node: ThrownNode): Evidence | undefined {
  const own = weakEvidence(node.thing);
  if (own) return own;
  // A bug below a cause was caught and explained by somebody: the explanation is the failure.
  const below = firstOf(node.causes, weakest);
  return below?.class === 'tool_bug' ? undefined : below;
}

function firstOf<T>(nodes: ThrownNode[], look: (node: ThrownNode) => T | undefined): T | undefined {
  for (const node of nodes) {
    const found = look(node);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An abort, or a connection that broke because of it, is explained by the attempt's own signal where that fired. */
function explainAbort(evidence: Evidence, { aborted }: ThrownContext): Evidence {
  const broke = evidence.class === 'network_error' && evidence.answer === undefined && evidence.unsent !== true;
  const bySignal = evidence.abort === true || broke;
  if (aborted === undefined || !bySignal) return evidence;
  if (aborted === 'cancelled') return { class: 'cancelled' };
  return { class: 'timeout', reason: 'no answer came in time' };
}

/**
 * `none` only where nothing can have happened: see "Effect state none is inferred" in the design. A function or an MCP
 * tool may have done half its work before the request that failed.
 */
function effectOf(evidence: Evidence, { source, sent }: ThrownContext): EffectState {
  if (source === 'function') return 'unknown';
  if (sent === false) return 'none';
  if (source === 'mcp') {
    // The server refused the session before it looked at the request (MCP, "Session Management").
    return evidence.class === 'session_expired' ? 'none' : 'unknown';
  }
  if (evidence.answer) return evidence.answer.effectState;
  if (evidence.unsent === true && sent !== true) return 'none';
  return 'unknown';
}

/** A wait that stands deeper in the tree than what decided the class is not lost, nor hidden by a malformed one above it. */
function withDelay(failure: ClassifiedFailure, nodes: ThrownNode[], nowMs: number): ClassifiedFailure {
  if (failure.retryAfterMs !== undefined || failure.class === 'quota_exhausted') return failure;
  for (const node of nodes) {
    const fromHeaders = retryAfterFromHeaders(headersOn(node.thing), nowMs, {
      rateLimited: failure.class === 'rate_limit',
    });
    const given = fromHeaders ?? readNumber(node.thing, 'retryAfterMs') ?? delayOf(read(node.thing, 'nextRetryDelay'));
    if (given !== undefined && given >= 0) return { ...failure, retryAfterMs: Math.ceil(given) };
  }
  return failure;
}

/** Temporal's `nextRetryDelay`: milliseconds, or `'3s'`. */
function delayOf(value: unknown): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  const match = typeof value === 'string' ? /^(\d{1,9})\s*(ms|s|m|h)?$/.exec(value.trim()) : undefined;
  if (!match) return undefined;
  return Number(match[1]) * ({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[match[2] ?? 'ms'] ?? 1);
}

/**
 * The failure in its own words: the outermost message, then what each cause adds to it, parts side by side. Empty where
 * nobody said anything.
 */
export function wordsOf(node: ThrownNode, depth = 4): string {
  const own = textOf(node.thing) || wordsOfPlain(node.thing);
  if (depth === 0) return own;
  const parts = [...new Set(node.parts.map((part) => wordsOf(part, depth - 1)).filter((text) => text !== ''))]
    .slice(0, 5)
    .join('; ');
  const cause = node.causes.map((each) => wordsOf(each, depth - 1)).find((text) => text !== '') ?? '';
  return [own, parts, cause].reduce((said, more) => {
    if (more === '' || said.includes(more)) return said;
    return said === '' ? more : `${said}: ${more}`;
  });
}

/** Words of things that are no errors: a number, a plain object's own fields. */
function wordsOfPlain(thing: unknown): string {
  if (typeof thing === 'number' || typeof thing === 'boolean' || typeof thing === 'bigint') return String(thing);
  if (typeof thing === 'symbol') return thing.description ?? '';
  if (typeof thing !== 'object' || thing === null || nameOf(thing).endsWith('Error')) return '';
  for (const key of ['detail', 'error_description', 'reason', 'description', 'error', 'title', 'code']) {
    const text = readText(thing, key);
    if (text !== undefined) return text.trim();
  }
  const json = jsonOf(thing);
  const text = json === undefined ? '' : JSON.stringify(json);
  return text === '{}' || text === '[]' || text === 'null' ? '' : text;
}
