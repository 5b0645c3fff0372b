/** What one start of a body was seen to ask of its backends. Counted apart from the starts, which the executor decides on. */
export interface SeenRequests {
  /** HTTP requests in all. */
  sent: number;
  /** Attempts of this start that the backend says it saw (`ctx.seenByBackend`). */
  reported?: number;
  /** Requests that were sent again after they had failed, inside this one start: a client that retries by itself. */
  retried?: RetriedRequest[];
}

/** Equal requests (method, host, path, idempotency key) of one start, sent again after a failure. */
export interface RetriedRequest {
  method: string;
  /** With the port, where one is named. */
  host: string;
  /** Without query; segments that look like ids or secrets are `*`. */
  path: string;
  /** How often one of them was sent, the first time included. */
  attempts: number;
  /** Sendings that were retries, over all requests of this method, host and path. */
  retries: number;
  /** What the retried sendings had met, in order: a status, or no answer at all. The first ten. */
  after: (number | 'no answer')[];
  /** The client library, where it gives its name: `openai`, `aws-sdk`, `got`. */
  client?: string;
}

/** Attempts that the backend saw in one start; `undefined` where nothing was seen. */
export function attemptsSeen(requests: SeenRequests | undefined): number | undefined {
  if (!requests) return undefined;
  if (requests.reported !== undefined) return requests.reported;
  if (requests.sent === 0) return undefined;
  return Math.max(1, ...(requests.retried ?? []).map(({ attempts }) => attempts));
}
