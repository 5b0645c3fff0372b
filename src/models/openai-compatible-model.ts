import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { ChatCompletionsAnswer } from './chat-completions-answer.js';
import { chatRequestBody } from './chat-completions-request.js';
import type { Model, ModelReply, ModelRequest } from './model.js';
import { errorInsideAnswer, isRecord, ProviderAnswerError, unusableAnswer } from './provider-error.js';
import { parseKeepingDigits } from './raw-arguments.js';

export interface OpenAiCompatibleOptions {
  /** Up to and without `/chat/completions`, e.g. `https://api.openai.com/v1`. */
  baseUrl: string;
  model: string;
  /** Sent as a bearer token; local servers often need none. */
  apiKey?: string;
  headers?: Record<string, string>;
  /** Name of the provider as shown to people. Default `openai-compatible`. */
  provider?: string;
  /** Default false: tools' images are named in words. */
  takesImages?: boolean;
  prices?: Model['prices'];
  /** Asks for token counts (`stream_options`), which a few old servers refuse. Default true; else usage is estimated. */
  includeUsage?: boolean;
}

/** An unusable answer is kept for the operator up to about this size; what matters in it stands at its start. */
const MAX_ERROR_CHARACTERS = 64 * 1024;

/**
 * A model behind the Chat Completions protocol, over native fetch.
 *
 * An own adapter and not `@ai-sdk/openai-compatible`, because that one (measured on 3.0.92) loses the error of a gateway
 * that answers 200 with a JSON body, drops status, headers and body of an HTML page, refuses arguments sent as an object
 * and answers that do not stream, throws a finished answer away when the socket dies before `[DONE]`, and writes a tool's
 * image into the prompt as base64 text. Token counts that are no numbers cost it the whole answer.
 *
 * `complete` rejects with: an `APICallError` (`statusCode`, `responseHeaders`, `responseBody`) for every answer that is not
 * a complete reply; fetch's own error where there was no answer or the socket was cut; the signal's reason on abort, which
 * closes the socket. Redirects are not followed: a POST would become a GET, or send the conversation somewhere else.
 */
export function openAiCompatibleModel(options: OpenAiCompatibleOptions): Model {
  return {
    name: `${options.provider ?? 'openai-compatible'}:${options.model}`,
    takesImages: options.takesImages ?? false,
    ...(options.prices && { prices: options.prices }),
    complete: (request) => completeTurn(options, request),
  };
}

async function completeTurn(options: OpenAiCompatibleOptions, request: ModelRequest): Promise<ModelReply> {
  request.signal.throwIfAborted();
  const body = await chatRequestBody(request, {
    model: options.model,
    takesImages: options.takesImages ?? false,
    includeUsage: options.includeUsage ?? true,
  });
  const url = `${options.baseUrl.replace(/\/+$/, '')}/chat/completions`;
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(options.apiKey && { authorization: `Bearer ${options.apiKey}` }),
      ...options.headers,
    },
    body: JSON.stringify(body),
    redirect: 'manual',
    signal: request.signal,
  });
  return response.status === 200 ? readReply(response, url) : Promise.reject(await failedStatus(response, url));
}

async function failedStatus(response: Response, url: string): Promise<Error> {
  const body = await readStart(response);
  const data = tryParse(body);
  const words = isRecord(data) ? (isRecord(data['error']) ? data['error']['message'] : data['message']) : undefined;
  return new ProviderAnswerError({
    message: typeof words === 'string' && words !== '' ? words : `HTTP ${response.status} from the model's provider`,
    url,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body,
    ...(data !== undefined && { data }),
  });
}

async function readReply(response: Response, url: string): Promise<ModelReply> {
  const known = { url, status: response.status, headers: Object.fromEntries(response.headers) };
  const answer = new ChatCompletionsAnswer();
  let events = 0;
  let start = '';
  // A body that is not an event stream is kept whole only where it may be the answer.
  const maxStart = response.headers.get('content-type')?.includes('json') ? Infinity : MAX_ERROR_CHARACTERS;
  const parser = createParser({
    onEvent: (event) => {
      events += 1;
      addEvent(answer, event, known);
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const bytes of bytesOf(response)) {
      const text = decoder.decode(bytes, { stream: true });
      if (events === 0 && start.length < maxStart) start += text;
      parser.feed(text);
    }
    // Some servers leave out the blank line after the last event. A line that was cut short is no JSON and is refused.
    parser.feed('\n\n');
  } catch (error) {
    // What follows the finish mark is usage at most, and not worth paying for the turn again. An abort is an abort.
    if (!answer.finished || !isCut(error)) throw error;
  }
  if (events === 0) addBody(answer, start, known);
  const reply = answer.reply();
  if ('incomplete' in reply) {
    throw unusableAnswer({ ...known, message: reply.incomplete, body: start.slice(0, MAX_ERROR_CHARACTERS) });
  }
  return reply;
}

interface KnownAnswer {
  url: string;
  status: number;
  headers: Record<string, string>;
}

function addEvent(answer: ChatCompletionsAnswer, { event, data }: EventSourceMessage, known: KnownAnswer): void {
  if (data === '[DONE]') return;
  const chunk = tryParse(data);
  if (event === 'error') throw errorInsideAnswer(chunk ?? data, known);
  addChunk(answer, chunk, data, known);
}

/** An answer that is no event stream: a server that does not stream, a gateway's error object, or a page of HTML. */
function addBody(answer: ChatCompletionsAnswer, body: string, known: KnownAnswer): void {
  addChunk(answer, tryParse(body), body, known);
}

function addChunk(answer: ChatCompletionsAnswer, chunk: unknown, text: string, known: KnownAnswer): void {
  if (!isRecord(chunk)) {
    const body = text.slice(0, MAX_ERROR_CHARACTERS);
    throw unusableAnswer({ ...known, message: 'the answer could not be read', body });
  }
  // An error counts whatever stands beside it: gateways send it together with an empty choice that says `stop`.
  if (chunk['error'] != null) throw errorInsideAnswer(chunk, known);
  answer.add(chunk);
}

/** Fetch reports a socket that died in mid-body as a TypeError (`terminated`) with the socket's error as its cause. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined;
}

/** Fetch's type says less of the body than the standard does. */
function bytesOf(response: Response): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return (response.body as ReadableStream<Uint8Array> | null) ?? [];
}

async function readStart(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of bytesOf(response)) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length >= MAX_ERROR_CHARACTERS) break;
    }
  } catch (error) {
    // The status is known and decides; a body that was cut takes nothing away from it. An abort still counts.
    if (!isCut(error)) throw error;
  }
  return text;
}

function tryParse(text: string): unknown {
  try {
    return parseKeepingDigits(text);
  } catch {
    return undefined;
  }
}
