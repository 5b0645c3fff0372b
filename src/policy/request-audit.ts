import type { RetriedRequest, SeenRequests } from '../contract/seen-requests.js';

/** A request as it left the process. */
export interface SentRequest {
  method: string;
  host: string;
  path: string;
  /** With its question mark, or `''`. Two pages of a list are two requests. */
  query: string;
  contentLength: number | undefined;
  /** Values of its headers by lower-case name, `undefined` where absent. */
  header: (name: string) => string | undefined;
}

/** Handle of a request that was added, to tell how it ended. */
export interface AuditedRequest {
  end(answer: number | 'no answer'): void;
}

/** Different requests of one start that are told apart; those beyond are counted only. */
const mostKnown = 200;
const mostAfter = 10;

/** Answers after which clients retry by themselves: those of the openai SDK (408, 409, 429, 5xx) and of RFC 8470 (425). */
function invitesRetry(answer: number | 'no answer'): boolean {
  return answer === 'no answer' || answer >= 500 || [408, 409, 425, 429].includes(answer);
}

interface Known {
  method: string;
  host: string;
  path: string;
  /** Sent in a row without a success between. */
  chain: number;
  longest: number;
  retries: number;
  last: number | 'no answer' | undefined;
  after: (number | 'no answer')[];
  client: string | undefined;
}

/**
 * Watches the requests of one start of a body and finds those that were sent again after they had failed. Exactly one layer
 * retries, and that is the executor: what a client repeats by itself multiplies its attempts, and its waits are in nobody's
 * budget. A request that is repeated after a success (polling, a list's pages) is no retry.
 */
export class RequestAudit {
  #sent = 0;
  #reported: number | undefined;
  readonly #known = new Map<string, Known>();

  add(request: SentRequest): AuditedRequest {
    this.#sent += 1;
    const known = this.#find(request);
    if (!known) return { end: () => undefined };
    const isRetry = known.last !== undefined && invitesRetry(known.last);
    if (isRetry) {
      known.retries += 1;
      if (known.after.length < mostAfter && known.last !== undefined) known.after.push(known.last);
    }
    known.chain = isRetry ? known.chain + 1 : 1;
    known.longest = Math.max(known.longest, known.chain);
    known.client ??= clientOf((name) => request.header(name));
    known.last = undefined;
    return { end: (answer) => (known.last = answer) };
  }

  /** The backend's own count of this start's attempts; several are added up. */
  report(attempts: number): void {
    this.#reported = (this.#reported ?? 0) + attempts;
  }

  /** `undefined` where nothing was seen. `mask` takes secrets out of a path. */
  seen(mask: (text: string) => string): SeenRequests | undefined {
    if (this.#sent === 0 && this.#reported === undefined) return undefined;
    const retried = this.#retried(mask);
    return {
      sent: this.#sent,
      ...(this.#reported !== undefined && { reported: this.#reported }),
      ...(retried.length > 0 && { retried }),
    };
  }

  #find({ method, host, path, query, contentLength, header }: SentRequest): Known | undefined {
    const place = [method, host, path, query, header('idempotency-key') ?? '', contentLength ?? ''].join('\n');
    const known = this.#known.get(place);
    if (known || this.#known.size >= mostKnown) return known;
    const first = {
      method,
      host,
      path,
      chain: 0,
      longest: 0,
      retries: 0,
      last: undefined,
      after: [],
      client: undefined,
    };
    this.#known.set(place, first);
    return first;
  }

  #retried(mask: (text: string) => string): RetriedRequest[] {
    const byPlace = new Map<string, RetriedRequest>();
    for (const { method, host, path, longest, retries, after, client } of this.#known.values()) {
      if (retries === 0) continue;
      const shown = mask(pathPattern(path));
      const place = [method, host, shown].join('\n');
      const former = byPlace.get(place);
      const named = former?.client ?? client;
      byPlace.set(place, {
        method,
        host,
        path: shown,
        attempts: Math.max(former?.attempts ?? 0, longest),
        retries: (former?.retries ?? 0) + retries,
        after: [...(former?.after ?? []), ...after].slice(0, mostAfter),
        ...(named !== undefined && { client: named }),
      });
    }
    return [...byPlace.values()];
  }
}

/** `/v1/customers/cus_9s6XKzkNRiz8i3` as `/v1/customers/*`: ids would make each call a case of its own, and may be secret. */
function pathPattern(path: string): string {
  return path
    .split('/')
    .map((segment) => (/^v\d{1,2}[a-z]*\d*$/.test(segment) || !/\d|.{32}/.test(segment) ? segment : '*'))
    .join('/')
    .slice(0, 200);
}

/** How clients call themselves in `user-agent`. */
const agents: readonly [RegExp, string][] = [
  [/\bOpenAI\/JS\b/i, 'openai'],
  [/\bAnthropic\/JS\b/i, 'anthropic'],
  [/\bai(?:-sdk)?\/[\w./-]*\d/i, 'ai-sdk'],
  [/\baws-sdk-(?:js|nodejs)\b/i, 'aws-sdk'],
  [/\bazsdk-js\b/i, 'azure-sdk'],
  [/\bgoogle-api-nodejs-client\b|\bgl-node\b/i, 'googleapis'],
  [/\bStripe\/v\d NodeBindings\b/i, 'stripe'],
  [/@slack:web-api/i, 'slack'],
  [/\boctokit\b/i, 'octokit'],
  [/^got \(/i, 'got'],
  [/^axios\//i, 'axios'],
];

/** The library that sends a request, by what it says of itself. */
function clientOf(header: SentRequest['header']): string | undefined {
  const agent = header('user-agent') ?? '';
  return agents.find(([pattern]) => pattern.test(agent))?.[1];
}
