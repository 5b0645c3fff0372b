import { hostname } from 'node:os';
import { Client, type Connection, isGrpcServiceError } from '@temporalio/client';
import { unreachableAdvice } from '../server/connection.js';
import { PerdureError } from './perdure-error.js';
import { userName } from './user-name.js';

/** gRPC status codes, https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const UNAVAILABLE = 14;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

/** A server that has not answered by then is as good as gone; nothing waits longer, except for histories and a run's end. */
const REQUEST_TIMEOUT_MS = 5_000;

export interface TemporalRequestsOptions {
  connection: Connection;
  namespace: string;
  address: string;
  /** What to do where it does not answer any more. Default: to start it, or name another. */
  advice?: string;
}

/** Requests to a Temporal server that end in time, and whose failures say what to do. Owns the connection. */
export class TemporalRequests {
  readonly client: Client;
  readonly namespace: string;
  readonly #options: TemporalRequestsOptions;

  constructor(options: TemporalRequestsOptions) {
    const { connection, namespace } = options;
    this.#options = options;
    this.namespace = namespace;
    // Histories keep who asked; the SDK would say the process's id, which tells nobody anything tomorrow.
    this.client = new Client({ connection, namespace, identity: `${userName()}@${hostname()}` });
  }

  /** Rejects with `server_unreachable` where nobody answers or the server refuses; else as the request does. */
  async ask<T>(request: () => Promise<T>, timeoutMs = REQUEST_TIMEOUT_MS): Promise<T> {
    try {
      return await this.client.connection.withDeadline(Date.now() + timeoutMs, request);
    } catch (error) {
      this.throwServerProblem(error);
      throw error;
    }
  }

  /** Throws where it was the server or the way to it that failed, in a person's words; else returns. */
  throwServerProblem(error: unknown): void {
    const { address } = this.#options;
    const status = isGrpcServiceError(error) ? error : error instanceof Error ? error.cause : undefined;
    if (!isGrpcServiceError(status)) return;
    const code: number = status.code;
    if (code === UNAVAILABLE || code === DEADLINE_EXCEEDED) {
      throw new PerdureError('server_unreachable', `No Temporal server answers at ${address}.`, {
        next: unreachableAdvice(this.#options),
        cause: error,
      });
    }
    if (code === PERMISSION_DENIED || code === UNAUTHENTICATED) {
      throw new PerdureError('server_unreachable', `The Temporal server at ${address} refused: ${status.details}.`, {
        next: 'Check TEMPORAL_API_KEY, TEMPORAL_NAMESPACE and the TLS settings.',
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    await this.#options.connection.close();
  }
}

/** What the server says of an execution that it does not know, or no longer. */
export function isNotFound(error: unknown): boolean {
  return isGrpcServiceError(error) && (error.code as number) === NOT_FOUND;
}
