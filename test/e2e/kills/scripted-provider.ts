/** The demo's script behind the Chat Completions protocol, on a real socket: a model that can be caught in mid-answer. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nextTurn } from '../../../examples/shop/agent/script.js';
import { exchangesOf } from '../../../examples/shop/script.js';
import { delta, finish, toolDelta, type ChatMessage, type ChatRequest } from '../../models/fake-provider.js';

export class ScriptedProvider implements AsyncDisposable {
  /** How often each turn was asked for, by its number; the first is 0. */
  readonly asked = new Map<number, number>();
  readonly #server = createServer();
  readonly #stalls = new Map<number, () => void>();

  static async start(): Promise<ScriptedProvider> {
    const provider = new ScriptedProvider();
    provider.#server.on('request', (request, response: ServerResponse) => {
      void (async () => {
        const text = (await request.setEncoding('utf8').toArray()).join('');
        await provider.#answer(JSON.parse(text) as ChatRequest, response);
      })();
    });
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The next answer to that turn stops after its first words; resolves when it has. */
  stall(turn: number): Promise<void> {
    return new Promise((resolve) => this.#stalls.set(turn, resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer({ messages }: ChatRequest, response: ServerResponse): Promise<void> {
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    this.asked.set(turn, (this.asked.get(turn) ?? 0) + 1);
    const { text, calls } = nextTurn(exchangesOf(messages.map(transcriptMessage)));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(delta({ content: text.slice(0, 20) }));
    const stalled = this.#stalls.get(turn);
    if (stalled) {
      this.#stalls.delete(turn);
      stalled();
      return;
    }
    response.write(delta({ content: text.slice(20) }));
    for (const [index, { tool, args }] of calls.entries()) {
      response.write(toolDelta({ index, id: `call_${turn}_${index}`, name: tool, arguments: JSON.stringify(args) }));
    }
    response.end(finish(calls.length > 0 ? 'tool_calls' : 'stop'));
  }
}

function transcriptMessage(message: ChatMessage): Parameters<typeof exchangesOf>[0][number] {
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        calls: (message.tool_calls ?? []).map(({ id, function: called }) => ({
          callId: id,
          tool: called.name,
          rawArguments: called.arguments,
        })),
      };
    case 'tool':
      return { role: 'tool', callId: message.tool_call_id ?? '', content: String(message.content) };
    default:
      return { role: 'user' };
  }
}
