import { ConfigError } from '../config/config-error.js';

/**
 * What a test runner must offer: `import * as vitest from 'vitest'`, `import * as runner from 'node:test'`, or jest's
 * globals `{ describe, it, afterAll }` all do.
 */
export interface TestRunner {
  /** Groups tests. */
  describe(name: string, body: () => void): unknown;
  /** The third argument is a timeout in milliseconds; runners without one ignore it. */
  it(name: string, body: () => Promise<void>, timeoutMs?: number): unknown;
  /** Called once, after the tests of its `describe`. One of `afterAll` (vitest, jest) and `after` (node:test) is needed. */
  afterAll?(body: () => Promise<void>, timeoutMs?: number): unknown;
  /** As `afterAll`, by the name that node:test gives it. */
  after?(body: () => Promise<void>): unknown;
}

/** Registers what ends after the tests. Throws `ConfigError` where the runner has no way to do so. */
export function afterTests(runner: TestRunner, body: () => Promise<void>, timeoutMs: number): void {
  if (runner.afterAll) runner.afterAll(body, timeoutMs);
  else if (runner.after) runner.after(body);
  else {
    throw new ConfigError(
      'toolTests',
      'the test runner has neither afterAll nor after, so nothing could be stopped; pass all of it: toolTests({ describe, it, afterAll }, …)',
    );
  }
}
