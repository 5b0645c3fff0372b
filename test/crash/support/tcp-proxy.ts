/** A wire between two processes that can be cut, or made to swallow what one side says: a partition without a network. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * - `pass`: as a wire does.
 * - `cut`: what is open breaks, and nothing new is let through: both sides notice.
 * - `silent`: nothing gets through either way and nothing breaks: nobody notices (half-open).
 * - `no-replies`: requests arrive, their replies do not: what was done is not acknowledged.
 */
export type Weather = 'pass' | 'cut' | 'silent' | 'no-replies';

interface Pair {
  client: Socket;
  target: Socket;
  /** Something was swallowed: the streams make no sense any more. */
  torn: boolean;
}

/** Forwards connections to 127.0.0.1:`targetPort`. */
export class TcpProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #weather: Weather = 'pass';
  /** Bytes from the target that a client never got. */
  swallowedReplies = 0;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#join(client, targetPort));
  }

  static async open(targetPort: number): Promise<TcpProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, targetPort);
  }

  /** What was torn by the weather before is broken off, so that both sides begin anew. */
  set(weather: Weather): void {
    this.#weather = weather;
    for (const pair of this.#pairs) {
      if (weather === 'cut' || pair.torn) this.#drop(pair);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.set('cut');
    await closed;
  }

  #join(client: Socket, targetPort: number): void {
    if (this.#weather === 'cut') {
      client.destroy();
      return;
    }
    const pair: Pair = { client, target: connect(targetPort, '127.0.0.1'), torn: false };
    this.#pairs.add(pair);
    this.#forward(pair, 'requests');
    this.#forward(pair, 'replies');
  }

  #forward(pair: Pair, direction: 'requests' | 'replies'): void {
    const [from, to] = direction === 'requests' ? [pair.client, pair.target] : [pair.target, pair.client];
    from.setNoDelay(true);
    from.on('data', (bytes) => {
      if (this.#weather === 'silent' || (this.#weather === 'no-replies' && direction === 'replies')) {
        pair.torn = true;
        if (direction === 'replies') this.swallowedReplies += bytes.length;
      } else if (!to.write(bytes)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
    });
    from.on('end', () => to.end());
    from.on('error', () => this.#drop(pair));
    from.on('close', () => this.#drop(pair));
  }

  #drop(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.target.destroy();
  }
}
