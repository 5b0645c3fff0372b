import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'test/crash/**', 'test/replay/**', 'node_modules/**'],
    // Threads and child processes that tests start run the sources too, without a build.
    execArgv: ['--import', new URL('./test/typescript-resolver.ts', import.meta.url).href],
  },
});
