import { describe, expect, it } from 'vitest';
import type { RunDescription } from '../../src/client/run-description.js';
import type { ReplayedExecution } from '../../src/replay/replay-executions.js';
import { runScripted } from './scripted-platform.js';
import { runningRun, sampleRun, START_MS } from './sample-run.js';

function running(): RunDescription {
  const run = runningRun();
  return { ...run, server: { ...run.server!, status: 'running' } };
}

const limits = { steps: 25, calls: null, tokens: 10_000, costUsd: 2, wallTimeMs: null, failures: null };

describe('watch', () => {
  it('prints lines in a pipe, ends with the run, and says what was used of its budgets', async () => {
    const { exitCode, out } = await runScripted(['watch', 'run-4k'], {
      looks: [running(), sampleRun(), sampleRun()],
      limits,
    });
    expect(exitCode).toBe(0);
    expect(out).toContain("step 1  I'll look the order up first.\n");
    expect(out).toMatch(
      /run-4kx9mz completed {2}perdure show run-4kx9mz\n {2}steps \d+ of 25, tokens [\d,]+ of 10,000, cost \$[\d.]+ of \$2\n$/,
    );
  });

  it('shows at a terminal which call waits for its next start, and how long', async () => {
    const run = running();
    const open = run.steps
      .flatMap(({ calls }) => calls)
      .find(({ state }) => state === 'retrying' || state === 'running')!;
    const waiting: RunDescription = {
      ...run,
      server: {
        ...run.server!,
        pending: [
          {
            id: open.callId,
            activity: 'callTool',
            state: 'scheduled',
            attempt: 2,
            lastFailure: 'busy',
            nextAttemptAtMs: START_MS + 72_000,
          },
        ],
      },
    };
    const { out } = await runScripted(['watch', 'run'], {
      looks: [waiting, sampleRun(), sampleRun()],
      limits,
      terminal: true,
    });
    expect(out).toContain('next start in 12.0 s');
    expect(out).toContain('steps 2 of 25');
  });

  it('says it once, however it is looked at', async () => {
    const { server: _server, ...unserved } = running();
    const unanswered = { at: '127.0.0.1:7233', advice: 'Start the embedded one with: perdure dev' };
    const script = { looks: [unserved, unserved, sampleRun(), sampleRun()], unanswered };
    for (const how of [['watch'], ['watch', '--json'], ['logs', '--follow']]) {
      const { err } = await runScripted([...how, 'run'], script);
      expect(err.split('No Temporal server answers'), how.join(' ')).toHaveLength(2);
    }
  });

  it('says at once that no server answers, and goes on looking at the store', async () => {
    const { server: _server, ...unserved } = running();
    const unanswered = { at: '127.0.0.1:7233', advice: 'Start the embedded one with: perdure dev' };
    const script = { looks: [unserved, unserved, sampleRun(), sampleRun()], unanswered };
    const { exitCode, out, err } = await runScripted(['watch', 'run'], script);
    expect(err).toBe(
      'No Temporal server answers at 127.0.0.1:7233; showing what the store knows, looking again every 2 s.\n' +
        'Start the embedded one with: perdure dev\n',
    );
    expect(out).toContain('run-4kx9mz completed');
    expect(exitCode).toBe(0);
  });

  it('is left by Ctrl-C, and the run goes on', async () => {
    const { exitCode, err } = await runScripted(['watch', 'run'], { looks: [running()], interruptAtLook: 1 });
    expect(exitCode).toBe(130);
    expect(err).toContain('run-4kx9mz goes on. See it again: perdure watch run-4kx9mz');
  });

  it('prints one JSON value a line with --json', async () => {
    const { out } = await runScripted(['watch', 'run', '--json'], { looks: [sampleRun(), sampleRun()] });
    const types = out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types[0]).toBe('turn');
    expect(types.at(-1)).toBe('end');
  });
});

describe('replay', () => {
  const good: ReplayedExecution = {
    id: 'run-a',
    executionId: 'e1',
    workflowType: 'agentRun',
    events: 43,
    closed: true,
    status: 'replays',
  };
  const bad: ReplayedExecution = {
    ...good,
    id: 'run-b',
    closed: false,
    status: 'diverges',
    finding: {
      eventId: 18,
      recorded: 'the call c1.1 of print_label (activity callTool, id c1.1)',
      wanted: 'the call c1.0 of look_up (activity callTool, id c1.0)',
      reason: "Activity id of scheduled event 'c1.1' does not match activity id of activity command 'c1.0'",
      step: 1,
      callId: 'c1.1',
      tool: 'print_label',
      advice: ['Put it behind a patch.', 'Or retry it.'],
    },
  };

  it('of a run names each execution, and ends with 0', async () => {
    const { exitCode, out, asked } = await runScripted(['replay', 'run'], { replays: [good] });
    expect({ exitCode, out, asked }).toEqual({
      exitCode: 0,
      out: '✓ replays  run-a  e1  43 events\n',
      asked: ['histories run-4kx9mz'],
    });
  });

  it('of all runs names those that diverge, explains them, and sums up', async () => {
    const { exitCode, out, asked } = await runScripted(['replay', '--all', '--since', '7d'], { replays: [good, bad] });
    expect(asked).toEqual(['allHistories {"withinMs":604800000}']);
    expect(exitCode).toBe(5);
    expect(out).toMatchInlineSnapshot(`
      "✗ diverges at event 18  run-b  e1  43 events

      run-b, event 18 of agentRun (open)
        the history    the call c1.1 of print_label (activity callTool, id c1.1)
        the code       the call c1.0 of look_up (activity callTool, id c1.0)
        where          step 1, call c1.1 of print_label
        Temporal says  Activity id of scheduled event 'c1.1' does not match activity id of activity command 'c1.0'
      what to do
        - Put it behind a patch.
        - Or retry it.

      WORKFLOW  EXECUTIONS  EVENTS  REPLAY  DIVERGE  FAIL
      agentRun           2      86       1        1     0
      "
    `);
  });

  it('of a history without a server asks for none', async () => {
    const { exitCode, asked } = await runScripted(['replay', '--history', 'a.json'], { replays: [good] });
    expect({ exitCode, asked }).toEqual({ exitCode: 0, asked: ['readHistory a.json'] });
  });

  it.each([
    [['replay'], 'It is not said what to replay.'],
    [['replay', 'run', '--all'], 'A run, --history and --all exclude each other.'],
    [['replay', 'run', '--since', '7d'], '--since goes with --all only.'],
  ])('%j is refused with the ways there are', async (args, sentence) => {
    const { exitCode, err } = await runScripted(args);
    expect(exitCode).toBe(2);
    expect(err).toContain(sentence);
    expect(err).toContain('perdure replay --all --since 7d');
  });
});

describe('list', () => {
  it('passes its filters on, times from now or as dates', async () => {
    const args = ['list', '--tool', 'look', '--class', 'timeout', '--since', '1h', '--until', '2026-01-01', '--json'];
    const { asked } = await runScripted(args, { runs: [] });
    expect(JSON.parse(asked[0]!.slice('list '.length))).toEqual({
      limit: 50,
      tool: 'look',
      failureClass: 'timeout',
      startedSinceMs: START_MS + 60_000 - 3_600_000,
      startedBeforeMs: Date.parse('2026-01-01'),
    });
  });

  it('says that none fits', async () => {
    expect((await runScripted(['list', '--tool', 'look'], { runs: [] })).err).toBe(
      'No run fits. All of them: perdure list\n',
    );
  });

  it.each(['soon', '2026-99-01'])('refuses %s as a time', async (time) => {
    expect((await runScripted(['list', '--since', time], { runs: [] })).exitCode).toBe(2);
  });
});
