/** A mistake in what a person wrote (configuration, schema, option): thrown at load, before anything starts. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** Where, e.g. `tools[2].retry.timeout.maxAttempts`. */
  readonly path: string;
  constructor(path: string, problem: string, options?: { cause?: unknown }) {
    super(path === '' ? problem : `${path}: ${problem}`, options);
    this.path = path;
  }
}
