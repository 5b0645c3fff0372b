import { APICallError, InvalidResponseDataError } from '@ai-sdk/provider';

/** What is known of a provider's failed answer. */
export interface FailedAnswer {
  message: string;
  url: string;
  /** The HTTP status, or the code of an error object inside a 200 where that is a status too. */
  status?: number;
  headers?: Record<string, string>;
  /** The body, or the error event of a stream, as text. */
  body?: string;
  data?: unknown;
  cause?: unknown;
}

/**
 * One error shape for every provider's failed answer: the AI SDK's `APICallError` (`statusCode`, `responseHeaders`,
 * `responseBody`, `data`), which its own providers throw too, so there is one thing to read. `response` says the same once
 * more in the words of most HTTP clients: there a status of 200 is an answer to look into, where an error's own
 * `statusCode` of 200 tells a classifier nothing.
 *
 * The request is left out of it: it holds the whole conversation, which has no place in a log.
 */
export class ProviderAnswerError extends APICallError {
  readonly response: { status?: number; headers: Record<string, string>; body?: string };

  constructor(answer: FailedAnswer) {
    super({
      message: answer.message,
      url: answer.url,
      requestBodyValues: {},
      ...(answer.status !== undefined && { statusCode: answer.status }),
      ...(answer.headers && { responseHeaders: answer.headers }),
      ...(answer.body !== undefined && { responseBody: answer.body }),
      ...(answer.data !== undefined && { data: answer.data }),
      ...(answer.cause !== undefined && { cause: answer.cause }),
    });
    this.response = {
      ...(answer.status !== undefined && { status: answer.status }),
      headers: answer.headers ?? {},
      ...(answer.body !== undefined && { body: answer.body }),
    };
  }
}

/** An answer that is none: unreadable, or broken off. Its cause has the AI SDK's name for that. */
export function unusableAnswer(answer: FailedAnswer): ProviderAnswerError {
  const cause = answer.cause ?? new InvalidResponseDataError({ data: answer.body, message: answer.message });
  return new ProviderAnswerError({ ...answer, cause });
}

/**
 * An error that came inside an answer that began as HTTP 200: an `error` event, or an error object where choices were
 * promised. A numeric code in it counts like a status, because gateways put the real one there; else the status stays 200
 * and the classifier reads the error's `type` and `code` from the body.
 *
 * `payload` is the event's value: `{ error: { message, type, code } }`, the inner object alone, or a text.
 */
export function errorInsideAnswer(
  payload: unknown,
  answer: Omit<FailedAnswer, 'message' | 'body' | 'data'>,
): APICallError {
  const inner = isRecord(payload) && payload['error'] != null ? payload['error'] : payload;
  const words = isRecord(inner) ? inner['message'] : inner;
  const status = innerStatus(inner) ?? answer.status;
  return new ProviderAnswerError({
    ...answer,
    message: typeof words === 'string' && words !== '' ? words : 'the provider reported an error without a message',
    body: typeof payload === 'string' ? payload : JSON.stringify(inner === payload ? { error: payload } : payload),
    data: payload,
    ...(status !== undefined && { status }),
  });
}

function innerStatus(inner: unknown): number | undefined {
  if (!isRecord(inner)) return undefined;
  for (const candidate of [inner['statusCode'], inner['status'], inner['code']]) {
    const code = typeof candidate === 'string' && /^\d{3}$/.test(candidate) ? Number(candidate) : candidate;
    if (typeof code === 'number' && Number.isInteger(code) && code >= 400 && code <= 599) return code;
  }
  return undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
