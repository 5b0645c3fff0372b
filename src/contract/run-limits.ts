/** Hard caps of a run; `null` is no cap. Every number is finite and 0 or more: 0 means none left. */
export interface RunLimits {
  /** Model turns that may ask for tools. Default 25. */
  steps: number | null;
  /** Tool calls over the whole run. */
  calls: number | null;
  /** Input and output tokens over all model turns. */
  tokens: number | null;
  /** US dollars over all model turns. */
  costUsd: number | null;
  /** Wall time from the run's start, milliseconds. */
  wallTimeMs: number | null;
  /** Failed calls over the whole run. */
  failures: number | null;
}
