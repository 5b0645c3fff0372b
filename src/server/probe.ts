import { connect } from 'node:net';
import { Connection } from '@temporalio/client';

/**
 * Whether a Temporal server answers at an address within `timeoutMs`. Never throws; anything else that listens there
 * (a web server, a port that only accepts) counts as no answer.
 */
export async function isTemporalAt(address: string, timeoutMs: number): Promise<boolean> {
  if (!(await accepts(address, timeoutMs))) return false;
  try {
    const connection = await Connection.connect({ address, connectTimeout: timeoutMs });
    await connection.close();
    return true;
  } catch {
    return false;
  }
}

/** Whether anything accepts connections at `host:port`. */
export async function accepts(address: string, timeoutMs: number): Promise<boolean> {
  return (await knock(address, timeoutMs)) === 'open';
}

/**
 * What a plain TCP connection to `host:port` comes to within `timeoutMs`; without a port, Temporal's usual one. gRPC takes a
 * refused connection for a reason to wait and try again, so asking it would cost the whole timeout (and, while a server
 * starts, a second too much); this costs milliseconds. Never rejects.
 */
export function knock(address: string, timeoutMs: number): Promise<'open' | 'refused' | 'unknown host' | 'silent'> {
  // An address with a scheme is no `host:port`, which the SDK says in words.
  if (address.includes('://') || !URL.canParse(`tcp://${address}`)) return Promise.resolve('silent');
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = connect({ host, port: port === '' ? 7233 : Number(port), timeout: timeoutMs });
    const settle = (answer: Awaited<ReturnType<typeof knock>>) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle('open'));
    socket.once('timeout', () => settle('silent'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      settle(code === 'ECONNREFUSED' ? 'refused' : code === 'ENOTFOUND' ? 'unknown host' : 'silent');
    });
  });
}
