import { APICallError } from '@ai-sdk/provider';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { ConfigError } from '../config/config-error.js';
import type { AiSdkModel } from './model-choice.js';
import { aiSdkPrompt, promptBeforeV4 } from './ai-sdk-prompt.js';
import { AiSdkAnswer, type AiSdkStreamPart, type StreamProblem } from './ai-sdk-stream.js';
import type { Model, ModelReply, ModelRequest } from './model.js';
import { errorInsideAnswer, isRecord, unusableAnswer } from './provider-error.js';

export interface AiSdkModelOptions {
  /**
   * Whether tool results may carry images. Default: whether the model says that it takes image URLs (`supportedUrls`),
   * the only sign that the interface gives; else images are named in words.
   */
  takesImages?: boolean;
  prices?: Model['prices'];
}

const SPECIFICATIONS = ['v2', 'v3', 'v4'];

/** The part of the provider interface that is used here, as all its specifications have it. */
interface StreamingModel extends AiSdkModel {
  readonly supportedUrls?: unknown;
  doStream(options: unknown): PromiseLike<StreamedAnswer>;
}

interface StreamedAnswer {
  stream: ReadableStream<AiSdkStreamPart>;
  response?: { headers?: Record<string, string> };
}

/**
 * An AI SDK language model (specification v2, v3 or v4) as a `Model`.
 *
 * It speaks the provider interface (`doStream`) and not `streamText`: that layer parses and validates tool calls, replaces
 * the arguments of bad ones, retries, and runs tools; here one call is one request, and calls come as the provider sent them.
 *
 * `complete` rejects with what the provider threw (an `APICallError` has `statusCode`, `responseHeaders` and
 * `responseBody`), with the socket's own error where the stream was cut, with the signal's reason on abort (the stream is
 * cancelled, which closes the socket), and with an `APICallError` where the stream carried an error or ended too soon.
 *
 * Throws ConfigError where `model` is of another specification or not a language model.
 */
export function aiSdkModel(model: AiSdkModel, options: AiSdkModelOptions = {}): Model {
  if (!isStreamingModel(model)) {
    throw new ConfigError(
      'model',
      `expected an AI SDK language model of specification ${SPECIFICATIONS.join(', ')}, got ${JSON.stringify(model.specificationVersion)}`,
    );
  }
  const takesImages = options.takesImages ?? takesImageUrls(model.supportedUrls);
  return {
    // Providers name the endpoint too (`openai.responses`); people say `openai:gpt-…`.
    name: `${model.provider.split('.')[0]}:${model.modelId}`,
    takesImages,
    ...(options.prices && { prices: options.prices }),
    complete: (request) => completeTurn(model, takesImages, request),
  };
}

async function completeTurn(model: StreamingModel, takesImages: boolean, request: ModelRequest): Promise<ModelReply> {
  request.signal.throwIfAborted();
  const prompt = await aiSdkPrompt(request, { provider: model.provider, takesImages });
  const answer = await startStream(model, callOptions(model, prompt, request), request.signal);
  return readAnswer(model, answer, request.signal);
}

function callOptions(model: StreamingModel, prompt: LanguageModelV4Prompt, request: ModelRequest): object {
  const tools = request.tools.map((tool) => ({
    type: 'function',
    name: tool.modelName,
    description: tool.description,
    inputSchema: tool.inputSchema,
  }));
  return {
    prompt: model.specificationVersion === 'v4' ? prompt : promptBeforeV4(prompt),
    ...(tools.length > 0 && { tools, toolChoice: { type: 'auto' } }),
    abortSignal: request.signal,
    includeRawChunks: false,
  };
}

/** Starts the one request. A provider that does not heed the signal is not waited for, and its late stream is closed. */
async function startStream(model: StreamingModel, options: object, signal: AbortSignal): Promise<StreamedAnswer> {
  const starting = Promise.resolve(model.doStream(options));
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => {
    aborted.reject(signal.reason);
    starting.then(
      (late) => late.stream.cancel(signal.reason),
      () => undefined,
    );
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([starting, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function readAnswer(model: StreamingModel, answer: StreamedAnswer, signal: AbortSignal): Promise<ModelReply> {
  const parts = new AiSdkAnswer(model.provider);
  const reader = answer.stream.getReader();
  const close = () => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener('abort', close, { once: true });
  try {
    for (;;) {
      const { done, value } = await readPart(reader);
      // Cancelling the reader on abort ends a pending read, also where the provider does not heed the signal.
      signal.throwIfAborted();
      if (done) break;
      const problem = parts.add(value);
      if (problem) throw problemError(problem, answer);
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
  const reply = parts.end();
  if ('problem' in reply) throw problemError(reply, answer);
  return reply;
}

async function readPart(reader: ReadableStreamDefaultReader<AiSdkStreamPart>) {
  try {
    return await reader.read();
  } catch (error) {
    throw causeOfCut(error);
  }
}

/**
 * A stream that breaks after its HTTP 200 is thrown as an APICallError with status 200, which says nothing of why; the
 * socket's error below it does.
 */
function causeOfCut(error: unknown): unknown {
  const began = APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode < 300;
  return began && error.cause !== undefined ? error.cause : error;
}

function problemError(problem: StreamProblem, answer: StreamedAnswer): unknown {
  const headers = answer.response?.headers;
  const known = { url: '', status: 200, ...(headers && { headers }) };
  if (problem.problem === 'incomplete') return unusableAnswer({ ...known, message: problem.why });
  const { error } = problem;
  if (APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode >= 300) return error;
  if (!(error instanceof Error)) return errorInsideAnswer(error, known);
  // Parse and validation errors of the SDK hold the event that they could not read: often an error in another spelling.
  // Their own words are a validator's dump, so the event is kept and they are not.
  const event = eventOf(error);
  if (isRecord(event) && event['error'] != null) return errorInsideAnswer(event, known);
  if (event === undefined) return unusableAnswer({ ...known, message: error.message, cause: error });
  const body = typeof event === 'string' ? event : JSON.stringify(event);
  return unusableAnswer({ ...known, message: 'the answer could not be read', body });
}

function eventOf(error: Error): unknown {
  const { text, value } = error as { text?: unknown; value?: unknown };
  return typeof text === 'string' ? text : value;
}

function isStreamingModel(model: AiSdkModel): model is StreamingModel {
  return (
    SPECIFICATIONS.includes(model.specificationVersion) && typeof (model as StreamingModel).doStream === 'function'
  );
}

function takesImageUrls(supportedUrls: unknown): boolean {
  if (typeof supportedUrls !== 'object' || supportedUrls === null) return false;
  return Object.keys(supportedUrls).some((mediaType) => mediaType.startsWith('image/'));
}
