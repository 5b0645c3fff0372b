import type { Json } from '../contract/json.js';

/** An HTTP answer that is no success, as the classifier reads it. The message names method and host, never secrets. */
export class HttpAnswerError extends Error {
  override readonly name = 'HttpAnswerError';
  /** Recognises instances across copies of this package. */
  readonly perdureHttpAnswer = true;
  /** Always true: an answer proves that the request arrived. */
  readonly sent = true;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  /** Parsed where it was JSON, else text, cut at 64 kB. */
  readonly body: Json;
  /** As sent, or `''`. */
  readonly contentType: string;
  /** The same once more where HTTP clients put it, so that one classifier reads ours and theirs. */
  readonly response: { status: number; headers: Record<string, string>; body: Json };

  constructor(answer: {
    status: number;
    headers: Record<string, string>;
    body: Json;
    contentType: string;
    message: string;
  }) {
    super(answer.message);
    this.status = answer.status;
    this.headers = answer.headers;
    this.body = answer.body;
    this.contentType = answer.contentType;
    this.response = { status: answer.status, headers: answer.headers, body: answer.body };
  }
}

/** A request without a whole answer. The classifier reads the codes in `cause`. */
export class HttpRequestError extends Error {
  override readonly name = 'HttpRequestError';
  /** False only where nothing can have reached the server: refused, no such host, no trusted certificate. */
  readonly sent: boolean;

  constructor(message: string, options: { sent: boolean; cause: unknown }) {
    super(message, { cause: options.cause });
    this.sent = options.sent;
  }
}
