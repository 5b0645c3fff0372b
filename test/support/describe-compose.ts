import { describe } from 'vitest';
import { findGoProgram } from '../../scripts/set-up/go-programs.mjs';
import { postgresMissing } from './postgres.js';

const missing =
  findGoProgram('compose-go') && findGoProgram('temporal-server')
    ? postgresMissing
    : 'compose-go and the Temporal server are not built (npm test builds them with Go)';

/**
 * `describe` for tests that run the services of docker-compose.yml, PostgreSQL and a Temporal server on it. Without one they
 * fail in CI; elsewhere they are skipped, and it is said why.
 */
export const describeCompose = missing === undefined || process.env['CI'] !== undefined ? describe : describe.skip;

if (missing !== undefined) console.warn(`Skipping tests of docker-compose.yml: ${missing}`);
