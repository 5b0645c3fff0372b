import { classifyTurn } from '../arguments/classify-turn.js';
import { keepFormerIds } from '../arguments/former-calls.js';
import type { FormerCall } from '../arguments/former-calls.js';
import { prepareCalls } from '../arguments/prepare-calls.js';
import type { CallModelInput, CallModelResult } from '../contract/activities.js';
import type { AnsweredCall, PreparedCall } from '../contract/call.js';
import type { Manifest } from '../contract/manifest.js';
import type { RecordedCall, TranscriptMessage } from '../contract/transcript.js';
import type { ModelReply } from '../models/model.js';
import { usageOf } from '../models/usage.js';
import { cutToChars } from '../policy/cut-text.js';
import { digestOf } from '../policy/idempotency-key.js';
import type { RecordedOutcome, RenderedMessage, TurnCommit, TurnKey } from '../store/records.js';
import type { Store } from '../store/store.js';
import { StoreError } from '../store/store-error.js';
import { notReady } from '../temporal/failure-mapper.js';
import { asLatest } from './asking-execution.js';
import { askModel } from './ask-model.js';
import { CallRecorder } from './call-recorder.js';
import type { ConversationCache } from './conversation-cache.js';
import { refusedOutcomes } from './finish-run.js';
import { liveAgent, modelFor, questionOf } from './model-question.js';
import { operatorNotes } from './operator-notes.js';
import type { ManifestCache, Services } from './services.js';
import { requireStore } from './store-identity.js';

/** The assistant's text as it stands in a run's history; the whole is in the transcript. */
const textPreviewCharacters = 4_000;
/** Half of what a payload may have. */
const mostTurnBytes = 1_048_576;

/**
 * One model turn: the former step's outcomes are appended to the transcript, the model is asked, its calls are read,
 * validated and given their keys. An answer that was stored is returned again, never paid for twice; the first write
 * wins. Returns the new head and the calls, constant in size.
 */
export async function callModel(
  services: Services,
  manifests: ManifestCache,
  conversations: ConversationCache,
  input: CallModelInput,
): Promise<CallModelResult> {
  const { store } = services;
  requireStore(store, input.storeId);
  const turn = turnKey(input);
  const refused = refusedOutcomes(services, input);
  // Asked side by side, for one round trip. What the workflow refused is stored first, and only where it has to be.
  const renderings = refused.length === 0 ? storedRenderings(store, input.answered) : undefined;
  renderings?.catch(() => undefined);
  const countStart = () => asLatest(services, input.runKey, (by) => store.countTurnStart(turn, by));
  // Likewise the start, where nothing else can stand between. Of a turn that turns out to be answered it only says that the
  // run has gone this way once more.
  const starts = canAskAtOnce(services, manifests, conversations, input) ? countStart() : undefined;
  starts?.catch(() => undefined);
  const { answer, interventions } = await store.getTurn(turn);
  if (answer) return answer;

  const manifest = await manifests.get(input.manifestHash);
  if (!manifest) throw notReady(`the store does not hold the run's tools (manifest ${input.manifestHash})`, 5_000);
  if (refused.length > 0) await asLatest(services, input.runKey, (by) => store.recordOutcomes(refused, by));
  const conversation = await conversations.upTo(input.head);
  const isUsedProviderId = conversations.usedProviderIds(input.head, conversation);
  const results = toolMessages(
    conversation,
    input.answered,
    await (renderings ?? storedRenderings(store, input.answered)),
  );
  if (interventions.length > 0) results.push(...operatorNotes(interventions, [...conversation, ...results]));

  const agent = liveAgent(services, input.agent);
  const model = await modelFor(services, agent?.model ?? input.model);
  conversation.push(...results);
  const question = questionOf(services, input, manifest, conversation);
  const reply = await askModel(services, {
    model,
    question,
    turn,
    countStart: () => starts ?? countStart(),
  });

  const { recorded, prepared, answered } = await readCalls(services, input, manifest, isUsedProviderId, reply);
  const usage = usageOf(reply, question, model.prices);
  services.metrics.tokensUsed(model.name, usage);
  const text = services.redactor.declared(reply.text);
  const asked = assistantMessage({ ...reply, text }, recorded, usage);
  const kind = classifyTurn(
    reply,
    manifest.tools.map((tool) => tool.modelName),
  );
  const commit: TurnCommit = {
    turn,
    messages: [...results, asked],
    result: {
      calls: withinPayload(prepared),
      usage,
      text: cutToChars(services.redactor.text(reply.text), textPreviewCharacters),
      empty: kind === 'empty',
      ...(kind === 'textual-call' ? { textualCall: true } : {}),
      ...(input.finalTurn ? { finalTurn: true } : {}),
    },
    answered,
  };
  const { answer: committed, isNew } = await asLatest(services, input.runKey, (by) => store.commitTurn(commit, by));
  // What another attempt has answered meanwhile is not in this list.
  if (isNew) {
    conversation.push(asked);
    conversations.extend(input.head, conversation, committed.head);
  }
  return committed;
}

/** Whether all that the question needs is in this process, and no limiter may put it off: a wait is no start. */
function canAskAtOnce(
  services: Services,
  manifests: ManifestCache,
  conversations: ConversationCache,
  { manifestHash, head, agent }: CallModelInput,
): boolean {
  const isLimited = services.modelLimits !== undefined;
  return !isLimited && agent === undefined && manifests.has(manifestHash) && conversations.wasSeen(head);
}

/**
 * A turn comes back as one payload of at most 2 MiB. Where very many calls were refused the history keeps their classes;
 * their words are in the store, which is what the model is shown.
 */
function withinPayload(prepared: PreparedCall[]): PreparedCall[] {
  if (Buffer.byteLength(JSON.stringify(prepared)) <= mostTurnBytes) return prepared;
  return prepared.map((call): PreparedCall => {
    if (call.status === 'ready' || !('failure' in call.outcome)) return call;
    const { alternatives: _alternatives, ...failure } = call.outcome.failure;
    const message = cutToChars(failure.message, 120);
    return { ...call, outcome: { ...call.outcome, failure: { ...failure, message, suggestedAction: '' } } };
  });
}

/** The same question gets the same stored answer: everything that the model's reply may depend on is in here. */
function turnKey(input: CallModelInput): TurnKey {
  const { runKey, step, head, take, manifestHash, model, emphasis, nudge, finalTurn } = input;
  const settings = digestOf({
    manifestHash,
    model: model ?? null,
    emphasis: emphasis ?? [],
    finalTurn: finalTurn ?? null,
    nudge: nudge ?? null,
  });
  return { runKey, step, head, settings, take };
}

/** The stored renderings of the former step's outcomes: worded when they were recorded, and never again. */
function storedRenderings(store: Store, answered: AnsweredCall[]): Promise<(RenderedMessage | undefined)[]> {
  return Promise.all(answered.map(async ({ key }) => (await store.getCall(key))?.rendered));
}

/** The former step's outcomes as the model is shown them, in the order of its calls. */
function toolMessages(
  conversation: readonly TranscriptMessage[],
  answered: AnsweredCall[],
  renderings: (RenderedMessage | undefined)[],
): TranscriptMessage[] {
  const asked = conversation.at(-1);
  const calls = asked?.role === 'assistant' ? asked.calls : [];
  return answered.map(({ callId, key }, index): TranscriptMessage => {
    const call = calls.find((candidate) => candidate.callId === callId);
    const rendered = renderings[index];
    if (!call || !rendered) {
      throw new StoreError('missing_node', `the store does not hold the outcome of ${callId} (key ${key})`);
    }
    return {
      role: 'tool',
      callId,
      providerCallId: call.providerCallId,
      tool: call.tool,
      modelName: call.modelName,
      content: rendered.content,
      failed: rendered.failed,
      ...(rendered.attachments ? { attachments: rendered.attachments } : {}),
    };
  });
}

/** Reads the calls of a reply: those that can run get their keys, the others their outcomes. */
async function readCalls(
  services: Services,
  input: CallModelInput,
  manifest: Manifest,
  isUsedProviderId: (providerCallId: string) => boolean,
  reply: ModelReply,
): Promise<{ recorded: RecordedCall[]; prepared: PreparedCall[]; answered: RecordedOutcome[] }> {
  const asked = await prepareCalls({
    runKey: input.runKey,
    step: input.step,
    reply,
    manifest,
    validator: services.validator,
    parse: async (tool, args) => (await services.tools.get(tool.name)?.parse(args)) ?? { ok: true },
    isUsedProviderId,
    putBody: (bytes) => services.store.putBody(bytes),
    redactor: services.redactor,
  });
  const calls = keepFormerIds(asked, await formerCalls(services.store, input), input);
  const answered: RecordedOutcome[] = [];
  const prepared = calls.prepared.map((call, index): PreparedCall => {
    if (call.status === 'ready') return call;
    const recorder = new CallRecorder({
      services,
      input: { call: { ...call, runKey: input.runKey } },
      tool: manifest.tools.find((tool) => tool.name === call.tool),
      live: services.tools.get(call.tool),
      offeredTools: manifest.tools.map((tool) => tool.modelName),
    });
    const recorded = recorder.recorded(recorder.failed(call.failure, undefined));
    recorder.logOutcome(recorded.outcome, call.failure, calls.recorded[index]?.rawArguments);
    answered.push(recorded);
    return { status: 'answered', callId: call.callId, digest: call.folded, outcome: recorded.outcome };
  });
  return { recorded: calls.recorded, prepared, answered };
}

/** The calls that earlier takes of this step asked for: the first take has none. */
async function formerCalls(store: Store, { runKey, step, take }: CallModelInput): Promise<FormerCall[]> {
  if (take === 0) return [];
  const former = (await store.listTurns(runKey)).filter(({ turn }) => turn.step === step && turn.take < take);
  const calls = former.flatMap(({ result }) =>
    result.calls.flatMap((prepared) => (prepared.status === 'ready' ? [prepared.call] : [])),
  );
  return [...new Map(calls.map((call) => [call.callId, call])).values()];
}

function assistantMessage(
  reply: ModelReply,
  calls: RecordedCall[],
  usage: CallModelResult['usage'],
): TranscriptMessage {
  return {
    role: 'assistant',
    text: reply.text,
    calls,
    finishReason: reply.finishReason,
    usage,
    ...(reply.providerData ? { providerData: reply.providerData } : {}),
  };
}
