/**
 * A place for large bodies, each under the id that it would have as a row: written once, whole or not at all, and never
 * changed. Rejects with a `StoreError` of code `unavailable` that names the option to look at.
 */
export interface Blobs {
  /** Resolves once the body is durable. */
  write(id: string, bytes: Uint8Array): Promise<void>;
  /** `undefined` where there is none, and for what is no id: ids come from transcripts and models. */
  read(id: string): Promise<Uint8Array | undefined>;
  close(): void;
}
