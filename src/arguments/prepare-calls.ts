import type { CallArguments, ToolCall } from '../contract/call.js';
import type { ClassifiedFailure, Violation } from '../contract/failure.js';
import type { JsonObject } from '../contract/json.js';
import type { Manifest, ManifestTool } from '../contract/manifest.js';
import type { RecordedCall } from '../contract/transcript.js';
import type { ModelReply, RawToolCall } from '../models/model.js';
import { foldedDigest, foldedTextDigest, plainArguments } from '../policy/fold-arguments.js';
import { digestOf, idempotencyKey } from '../policy/idempotency-key.js';
import type { Redactor } from '../policy/redaction.js';
import { nearestNames } from '../tools/tool-names.js';
import { providerCallIds } from './provider-call-ids.js';
import type { Validator } from './validator.js';

/** Arguments of at most this many bytes of JSON stay readable in a history (design: small values stay inline). */
export const INLINE_ARGUMENT_BYTES = 4096;
/** Default of `maxInputBytes`: half of what one Temporal payload may have (2 MiB). */
export const DEFAULT_MAX_INPUT_BYTES = 1024 * 1024;

/**
 * Arguments of all calls of one turn that stay inline, together. A turn comes back as one payload of at most 2 MiB, and its
 * calls are scheduled in one gRPC request of at most 4 MiB.
 */
const INLINE_BYTES_OF_TURN = 256 * 1024;

/**
 * Calls of one turn that are taken up. Ten times what any task needs; a model that writes more is going round in circles,
 * and their outcomes would not fit into one payload.
 */
export const MOST_CALLS_OF_TURN = 500;

const PREVIEW_CHARACTERS = 300;
/** Of a name that no tool has, as the outcome keeps it: outcomes travel through the history, whatever a model writes. */
const NAME_CHARACTERS = 200;
/** Tools named to a model that asked for one that isn't there. */
const MAX_LISTED_TOOLS = 30;

export interface PrepareCallsInput {
  runKey: string;
  step: number;
  reply: Pick<ModelReply, 'calls' | 'finishReason'>;
  manifest: Manifest;
  validator: Validator;
  /** Stores the bytes of arguments that are too large to be inline, and returns their id. */
  putBody: (bytes: Uint8Array) => Promise<string>;
  /** The tool's own check beyond its schema (refinements of a zod schema). */
  parse?: (tool: ManifestTool, args: JsonObject) => Promise<{ ok: true } | { ok: false; violations: Violation[] }>;
  limits?: { maxInputBytes?: number };
  /** Keeps secrets that a model wrote out of transcript and history; the tool gets its arguments intact. */
  redactor?: Redactor;
  /** Whether an earlier turn of the conversation used this id. */
  isUsedProviderId: (providerCallId: string) => boolean;
}

/** A call ready for execution, or one that is refused before anything ran; the caller words the refusal. */
export type PreparedOrRefused =
  | { status: 'ready'; call: ToolCall; folded: string }
  | {
      status: 'refused';
      callId: string;
      tool: string;
      key: string;
      digest: string;
      /** As loop defence compares calls. */
      folded: string;
      failure: ClassifiedFailure;
    };

export interface PreparedCalls {
  /** As the transcript keeps them, in the model's order. */
  recorded: RecordedCall[];
  /** One for each call, in the same order. */
  prepared: PreparedOrRefused[];
}

/**
 * Turns a model's tool calls into calls of ours: an id for each, its tool found by exact name, its arguments read,
 * repaired where that loses nothing, and checked. Rejects only where `putBody` does; a bad call is a value.
 */
export async function prepareCalls(input: PrepareCallsInput): Promise<PreparedCalls> {
  const { runKey, step } = input;
  const calls = input.reply.calls.slice(0, MOST_CALLS_OF_TURN);
  const providerIds = providerCallIds(calls, { runKey, step, isUsed: input.isUsedProviderId });
  const tools = new Map(input.manifest.tools.map((tool) => [tool.modelName, tool]));
  const room: TurnRoom = { bytes: INLINE_BYTES_OF_TURN };
  const each = await Promise.all(
    calls.map((raw, index) =>
      prepareCall({
        raw,
        room,
        callId: `c${step}.${index}`,
        providerCallId: providerIds[index] as string,
        tools,
        input,
        dropped: index === MOST_CALLS_OF_TURN - 1 ? input.reply.calls.length - MOST_CALLS_OF_TURN : 0,
      }),
    ),
  );
  return { recorded: each.map(({ recorded }) => recorded), prepared: each.map(({ prepared }) => prepared) };
}

/** What the calls of one turn may still put inline. */
interface TurnRoom {
  bytes: number;
}

interface OneCall {
  room: TurnRoom;
  raw: RawToolCall;
  callId: string;
  providerCallId: string;
  tools: ReadonlyMap<string, ManifestTool>;
  input: PrepareCallsInput;
  /** Calls after this one that are not taken up; told in its place. */
  dropped: number;
}

async function prepareCall(one: OneCall): Promise<{ recorded: RecordedCall; prepared: PreparedOrRefused }> {
  const { raw, callId, providerCallId, tools } = one;
  const tool = tools.get(raw.modelName);
  const mask = (text: string) => one.input.redactor?.declared(text) ?? text;
  // A name that no tool has may hold anything.
  const modelName = tool ? raw.modelName : mask(raw.modelName);
  const recorded: RecordedCall = {
    callId,
    providerCallId,
    tool: tool?.name ?? modelName,
    modelName,
    rawArguments: mask(raw.rawArguments),
  };
  if (!tool) return { recorded, prepared: refused(one, cutName(modelName), unknownTool(modelName, tools)) };
  if (one.dropped > 0) return { recorded, prepared: refused(one, tool.name, tooMany(one.dropped)) };
  const checked = await checkArguments(one, tool);
  if (!checked.ok) return { recorded, prepared: refused(one, tool.name, checked.failure, checked.value) };
  const digest = digestOf(checked.value);
  const call: ToolCall = {
    runKey: one.input.runKey,
    callId,
    tool: tool.name,
    key: keyOf(one, tool.name, digest),
    digest,
    arguments: await storeArguments(checked.value, { ...one.input, room: one.room }),
  };
  const { repairs } = checked;
  return {
    recorded: repairs.length === 0 ? recorded : { ...recorded, repairs },
    prepared: { status: 'ready', call, folded: foldedOf(tool, checked.value) },
  };
}

function cutName(name: string): string {
  return name.length <= NAME_CHARACTERS ? name : `${name.slice(0, NAME_CHARACTERS - 1).toWellFormed()}…`;
}

type CheckedArguments =
  { ok: true; value: JsonObject; repairs: string[] } | { ok: false; failure: ClassifiedFailure; value?: JsonObject };

async function checkArguments({ raw, input }: OneCall, tool: ManifestTool): Promise<CheckedArguments> {
  const bytes = Buffer.byteLength(raw.rawArguments);
  const limit = input.limits?.maxInputBytes ?? DEFAULT_MAX_INPUT_BYTES;
  if (bytes > limit) return { ok: false, failure: tooLarge(bytes, limit) };
  const { inputSchema: schema, examples } = tool;
  const { rawArguments } = raw;
  const result = await input.validator.validate({
    schema,
    input: { raw: rawArguments, finishReason: input.reply.finishReason },
    examples,
  });
  if (!result.ok || !input.parse) return result;
  const parsed = await parseSafely(input.parse, tool, result.value);
  if ('failure' in parsed) return { ok: false, failure: parsed.failure, value: result.value };
  return parsed.ok ? result : { ok: false, failure: ownRuleFailure(parsed.violations), value: result.value };
}

/** A tool's own check must not throw; where it does, the tool is broken and nothing has run. */
async function parseSafely(
  parse: NonNullable<PrepareCallsInput['parse']>,
  tool: ManifestTool,
  args: JsonObject,
): Promise<Awaited<ReturnType<typeof parse>> | { failure: ClassifiedFailure }> {
  try {
    return await parse(tool, args);
  } catch (error) {
    return {
      failure: {
        class: 'tool_bug',
        effectState: 'none',
        reason: `The check of the arguments failed: ${String(error)}`,
      },
    };
  }
}

/**
 * Keeps small arguments inline and stores the others, with a preview for the history: large ones, those for which the
 * turn has no more room, and those that hold a secret, which the preview does not show.
 */
export async function storeArguments(
  args: JsonObject,
  {
    putBody,
    redactor,
    room = { bytes: INLINE_BYTES_OF_TURN },
  }: Pick<PrepareCallsInput, 'putBody' | 'redactor'> & { room?: TurnRoom },
): Promise<CallArguments> {
  const text = JSON.stringify(args);
  const bytes = Buffer.from(text);
  const shown = redactor ? JSON.stringify(redactor.json(args)) : text;
  const fits = bytes.byteLength <= Math.min(INLINE_ARGUMENT_BYTES, room.bytes);
  if (fits && shown === text) {
    room.bytes -= bytes.byteLength;
    return { inline: args };
  }
  const preview = shown.length <= PREVIEW_CHARACTERS ? shown : `${shown.slice(0, PREVIEW_CHARACTERS).toWellFormed()}…`;
  return { bodyId: await putBody(bytes), preview };
}

function foldedOf(tool: ManifestTool, args: JsonObject): string {
  return foldedDigest(tool.name, plainArguments(args, tool.inputSchema));
}

function refused(one: OneCall, tool: string, failure: ClassifiedFailure, value?: JsonObject): PreparedOrRefused {
  // Arguments that could not be read are known by their text: the same bad call is then seen to be the same.
  const digest = digestOf(value ?? one.raw.rawArguments.toWellFormed());
  const folded = value ? foldedDigest(tool, value) : foldedTextDigest(tool.toWellFormed(), one.raw.rawArguments);
  return { status: 'refused', callId: one.callId, tool, key: keyOf(one, tool, digest), digest, folded, failure };
}

function keyOf(one: OneCall, tool: string, digest: string): string {
  return idempotencyKey({ runKey: one.input.runKey, callId: one.callId, tool: tool.toWellFormed(), digest });
}

/** The failure for a name that no tool has. Names are those that the model was shown. */
export function unknownTool(name: string, tools: ReadonlyMap<string, unknown>): ClassifiedFailure {
  const names = [...tools.keys()];
  const near = nearestNames(name, names);
  const listed = names.slice(0, MAX_LISTED_TOOLS).join(', ');
  const more = names.length > MAX_LISTED_TOOLS ? ` and ${names.length - MAX_LISTED_TOOLS} more` : '';
  const shown = JSON.stringify(name.length <= 80 ? name : `${name.slice(0, 77).toWellFormed()}…`);
  const nearest = near.length === 0 ? '' : ` The nearest names are ${near.join(', ')}.`;
  return {
    class: 'unknown_tool',
    effectState: 'none',
    reason: `There is no tool named ${shown}, so nothing was executed.${nearest}`,
    public: true,
    hint: names.length === 0 ? 'There are no tools in this run.' : `These are the tools: ${listed}${more}.`,
    ...(near.length === 0 ? {} : { alternatives: near }),
  };
}

function tooMany(dropped: number): ClassifiedFailure {
  return {
    class: 'budget_exhausted',
    effectState: 'none',
    reason: `one reply may ask for at most ${MOST_CALLS_OF_TURN} calls; the ${dropped} after this one were dropped as well`,
    public: true,
    hint: 'Ask for fewer calls at once.',
  };
}

function tooLarge(bytes: number, limit: number): ClassifiedFailure {
  return {
    class: 'input_too_large',
    effectState: 'none',
    reason: `they have ${bytes} bytes, and at most ${limit} are accepted; nothing was executed.`,
    public: true,
    hint: 'Send less: split the work into several calls, or pass a reference (a path, a URL, an identifier) instead of the content.',
  };
}

function ownRuleFailure(violations: Violation[]): ClassifiedFailure {
  return {
    class: 'validation_error',
    code: 'PARAM_INVALID_001',
    effectState: 'none',
    public: true,
    violations,
  };
}
