/**
 * The search attributes of a run, as plain names and types: replayed code, the worker's check at start and the embedded
 * server's registration all read this one table. The entries have the shape of `SearchAttributeKey` of
 * `@temporalio/common`, so they can be used as keys without importing it here.
 */
export const searchAttributeKeys = {
  /** The run's status (`RunStatus`). */
  status: { name: 'PerdureStatus', type: 'KEYWORD' },
  /** Names of the tools that the run has called. */
  tools: { name: 'PerdureTools', type: 'KEYWORD_LIST' },
  /** Failure classes that the run has met. */
  failureClasses: { name: 'PerdureFailureClasses', type: 'KEYWORD_LIST' },
} as const;

/** A search attribute's name and type, as the Temporal SDK writes types. */
export type PerdureSearchAttribute = (typeof searchAttributeKeys)[keyof typeof searchAttributeKeys];
