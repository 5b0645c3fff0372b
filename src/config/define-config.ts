import type { PerdureConfig } from './config.js';

/** Types a configuration: `export default defineConfig({ … })` in `perdure.config.ts`. It is checked when it is loaded. */
export function defineConfig(config: PerdureConfig): PerdureConfig {
  return config;
}
