import { ConfigError } from '../config/config-error.js';
import type { ModelChoice } from '../config/config.js';
import type { Model } from './model.js';

export interface ResolveModelOptions {
  /** Folder from which providers' packages are found and script files are read. */
  rootDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Where the chosen model brings none of its own. */
  prices?: Model['prices'];
}

/** The model that a person chose, or that the environment offers. */
export function resolveModel(
  choice: ModelChoice | undefined,
  _options: ResolveModelOptions,
): Promise<Model | undefined> {
  if (choice === undefined) return Promise.resolve(undefined);
  if (typeof choice === 'object' && 'complete' in choice) return Promise.resolve(choice);
  return Promise.reject(new ConfigError('model', 'expected an AI SDK model, a model name or a model'));
}
