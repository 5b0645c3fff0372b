import { describe, expect, it } from 'vitest';
import { CrashBench, heartbeatTimeoutMs, until } from './support/crash-bench.js';

describe('from the SIGKILL of a worker to the next one', { timeout: 60_000 }, () => {
  // The server's own back-off after a timeout (1 s) and the claim's grace run side by side; with the heartbeat interval
  // that is already over when the worker dies, 3 s is what is seen.
  it.each([{ heartbeatMs: heartbeatTimeoutMs }, { heartbeatMs: 10_000 }])(
    'a call is taken over within 2 s and the heartbeat timeout of $heartbeatMs ms',
    async ({ heartbeatMs }) => {
      await using bench = await CrashBench.open();
      await bench.oracle.mode('keyed', { type: 'commit-then-hold', times: 1 });
      const options = { heartbeatTimeoutMs: heartbeatMs };
      const doomed = await bench.worker([], options);
      const run = await bench.runCalls('keyed');
      await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the call');
      await bench.worker([], options);
      doomed.signal('SIGKILL');
      const killedAt = Date.now();
      await until(async () => (await bench.oracle.arrivals('keyed')).length === 2, 'the call runs again');
      const takenOverMs = Date.now() - killedAt;
      expect(await run.result()).toMatchObject({ status: 'completed' });
      const endedMs = Date.now() - killedAt;
      console.info(
        `heartbeat ${heartbeatMs} ms: the call ran again after ${takenOverMs} ms, the run ended after ${endedMs} ms`,
      );
      expect(takenOverMs).toBeLessThan(heartbeatMs + 2_000);
    },
  );
});
