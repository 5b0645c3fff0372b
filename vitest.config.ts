import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Tests that start servers: Temporal, and PostgreSQL for its store. */
const onServer = [
  'test/e2e/**/*.test.ts',
  'test/crash/**/*.test.ts',
  'test/store/postgres-store.test.ts',
  'test/store/copy-store.test.ts',
  'test/store/blob-bucket.test.ts',
];
const onHistories = ['test/replay/**/*.test.ts'];

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    // Examples import the package by its name, and are tested with its sources.
    alias: [
      { find: /^perdure$/, replacement: source('index.ts') },
      { find: /^perdure\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    // Threads and child processes that tests start run the sources too, without a build.
    execArgv: ['--import', new URL('./test/typescript-resolver.ts', import.meta.url).href],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...onServer, ...onHistories],
        },
      },
      {
        extends: true,
        test: {
          name: 'replay',
          include: onHistories,
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: onServer,
          // One Temporal server for the whole run (`temporalServer` in test/support); workers compete for its two cores.
          globalSetup: ['test/support/temporal-server-setup.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
