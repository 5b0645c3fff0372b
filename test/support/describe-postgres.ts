import { describe } from 'vitest';
import { postgresMissing } from './postgres.js';

/** `describe` for tests that need a PostgreSQL. Without one they fail in CI; elsewhere they are skipped, and it is said why. */
export const describePostgres =
  postgresMissing === undefined || process.env['CI'] !== undefined ? describe : describe.skip;

if (postgresMissing !== undefined) console.warn(`Skipping tests on PostgreSQL: ${postgresMissing}`);
