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

/**
 * Whether anything accepts connections at `host:port`. gRPC takes a refused connection for a reason to wait and try
 * again, so asking it would cost the whole timeout (and, while a server starts, a second too much); this costs
 * milliseconds.
 */
export function accepts(address: string, timeoutMs: number): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: timeoutMs });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
}
