/** A scripted provider on a real socket: serves Chat Completions answers byte for byte as a test wants them. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeAnswer {
  status?: number;
  /** Default `content-type: text/event-stream`. */
  headers?: Record<string, string>;
  /** Written one by one, each flushed before the next. */
  chunks?: (string | Uint8Array)[];
  /** After the chunks: end properly (default), destroy the socket, or keep it open until the client closes it. */
  then?: 'end' | 'cut' | 'hang';
}

export interface SeenRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: ChatRequest;
  /** The body's text, for digits that JSON.parse would round. */
  text: string;
  /** Settles when the connection is closed, by whomever. */
  closed: Promise<unknown>;
}

export interface ChatRequest {
  model: string;
  stream: boolean;
  stream_options?: unknown;
  tools?: { type: string; function: { name: string; description: string; parameters: unknown } }[];
  messages: ChatMessage[];
}

export interface ChatMessage {
  role: string;
  content: unknown;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

export class FakeProvider {
  readonly requests: SeenRequest[] = [];
  readonly #server = createServer();
  readonly #answers: FakeAnswer[] = [];
  #unscripted = 0;

  static async start(): Promise<FakeProvider> {
    const provider = new FakeProvider();
    provider.#server.on('request', (request, response: ServerResponse) => {
      void (async () => {
        let text = '';
        request.setEncoding('utf8');
        for await (const piece of request) text += piece as string;
        const closed = once(response, 'close');
        const body = JSON.parse(text === '' ? '{}' : text) as ChatRequest;
        provider.requests.push({ path: request.url ?? '', headers: request.headers, body, text, closed });
        await provider.#serve(response);
      })();
    });
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Queues answers, one for each request to come. */
  answer(...answers: FakeAnswer[]): void {
    this.#answers.push(...answers);
  }

  /** Closes everything, and throws where more or fewer requests came than answers were scripted. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    if (this.#unscripted > 0) throw new Error(`${this.#unscripted} requests without a scripted answer`);
    if (this.#answers.length > 0) throw new Error(`${this.#answers.length} scripted answers were never asked for`);
  }

  async #serve(response: ServerResponse): Promise<void> {
    const answer = this.#answers.shift();
    if (!answer) {
      this.#unscripted += 1;
      response.writeHead(500).end();
      return;
    }
    response.writeHead(answer.status ?? 200, { 'content-type': 'text/event-stream', ...answer.headers });
    response.flushHeaders();
    for (const chunk of answer.chunks ?? []) {
      if (!response.write(chunk)) await once(response, 'drain');
      // A turn of the event loop between writes, so that chunks leave as separate packets.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    if (answer.then === 'cut') response.destroy();
    else if (answer.then !== 'hang') response.end();
  }
}

/** One server-sent event with this value as its data. */
export function event(value: unknown, name?: string): string {
  return `${name ? `event: ${name}\n` : ''}data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
}

/** A Chat Completions chunk. */
export function delta(content: Record<string, unknown>, finishReason: string | null = null): string {
  return event({ id: 'x', choices: [{ index: 0, delta: content, finish_reason: finishReason }] });
}

export interface ToolDelta {
  index?: number;
  id?: string | null;
  name?: string;
  arguments?: unknown;
}

/** A chunk with fragments of tool calls. */
export function toolDelta(...fragments: ToolDelta[]): string {
  return delta({
    tool_calls: fragments.map(({ index, id, name, arguments: text }) => ({
      ...(index !== undefined && { index }),
      ...(id !== undefined && { id }),
      type: 'function',
      function: { ...(name !== undefined && { name }), ...(text !== undefined && { arguments: text }) },
    })),
  });
}

/** The last chunks of a good answer. */
export function finish(reason: string, usage: unknown = { prompt_tokens: 11, completion_tokens: 7 }): string {
  return delta({}, reason) + event({ choices: [], usage }) + event('[DONE]');
}

/** The same bytes in pieces of `size`, whatever they cut through. */
export function inPieces(text: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}
