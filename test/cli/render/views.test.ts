import { describe, expect, it } from 'vitest';
import { renderCall } from '../../../src/cli/render/call-view.js';
import { progressBetween, renderLive, renderProgress } from '../../../src/cli/render/progress.js';
import { renderRunList } from '../../../src/cli/render/run-list.js';
import { renderRun } from '../../../src/cli/render/step-view.js';
import { makeStyle, type Style } from '../../../src/cli/render/style.js';
import { displayWidth } from '../../../src/cli/render/text-width.js';
import { refusedRefund, runningRun, sampleRun, sampleSummaries, START_MS } from '../sample-run.js';

const nowMs = START_MS + 60_000;
const terminal = makeStyle({ colour: false, columns: 80, nowMs });
const coloured = makeStyle({ colour: true, columns: 80, nowMs });
const pipe = makeStyle({ colour: false, columns: undefined, nowMs });

const views: [string, (style: Style) => string][] = [
  ['the run list', (style) => renderRunList(sampleSummaries(), style)],
  ['a finished run', (style) => renderRun(sampleRun(), style)],
  ['a running run', (style) => renderRun(runningRun(), style)],
  ['a call', (style) => renderCall('run-4kx9mz', refusedRefund, style)],
  [
    'the progress of a run',
    (style) =>
      [
        ...progressBetween(undefined, runningRun()).flatMap((event) => renderProgress(event, style)),
        ...renderLive(runningRun(), '⠋', style),
        ...progressBetween(runningRun(), sampleRun()).flatMap((event) => renderProgress(event, style)),
      ].join('\n'),
  ],
];

describe.each(views)('%s', (_name, render) => {
  it('reads as before on a terminal without colours', () => {
    expect(render(terminal)).toMatchSnapshot();
  });

  it('reads as before in colours', () => {
    expect(render(coloured)).toMatchSnapshot();
  });

  it('reads as before in a pipe', () => {
    expect(render(pipe)).toMatchSnapshot();
  });

  it.each([80, 120])('is never wider than %i columns', (columns) => {
    const lines = render(makeStyle({ colour: false, columns, nowMs })).split('\n');
    // An address is never broken: it could not be clicked.
    const wide = lines.filter((line) => !line.includes('http') && displayWidth(line) > columns);
    expect(wide).toEqual([]);
  });

  it('lets no control character of a task or a tool through', () => {
    // eslint-disable-next-line no-control-regex -- control characters are what must not be there
    expect(render(pipe)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

it('a run that is stuck says why, and what to type', () => {
  const { server } = sampleRun();
  if (!server) throw new Error('the sample has a server');
  const stuck = { attempts: 4, reason: '[TMPRL1100] Nondeterminism error: no such timer' };
  const text = renderRun({ ...runningRun(), server: { ...server, status: 'running', stuck } }, pipe);
  expect(text).toContain(
    'stuck\n  its workflow task failed 4 times: [TMPRL1100] Nondeterminism error: no such timer\n' +
      '  What does not fit, and what to do: perdure replay run-4kx9mz',
  );
});

it('a call that ended, and ended otherwise after a retry, is told again', () => {
  const run = sampleRun();
  const [first, second] = run.steps;
  if (!first || !second) throw new Error('the sample has two steps');
  const { failure: _failure, ...rest } = refusedRefund;
  const mended = { ...rest, state: 'succeeded' as const, starts: rest.starts + 1 };
  const after = { ...run, steps: [first, { ...second, calls: [mended, ...second.calls.slice(1)] }] };
  expect(progressBetween(run, run)).toEqual([]);
  expect(progressBetween({ ...run, steps: [first, second] }, after)).toEqual([{ type: 'call', call: mended }]);
});

it('a step that a retry puts in the place of the answer is told as a new one', () => {
  const run = sampleRun();
  const [first, second, answer] = run.steps;
  if (!first || !second || !answer) throw new Error('the sample has three steps');
  const after = { ...run, steps: [first, second, { ...first, step: 3 }, { ...answer, step: 4 }] };
  const events = progressBetween(run, after);
  expect(events.map((event) => event.type)).toEqual(['turn', 'turn']);
  expect(events.flatMap((event) => renderProgress(event, pipe))).toEqual(["step 3  I'll look the order up first."]);
});

describe('a start that nobody ended', () => {
  const lost = {
    key: 'k1:bb',
    start: 1,
    worker: '4711@box',
    startedAtMs: START_MS,
    endedAtMs: START_MS + 2_400,
    failure: {
      error_type: 'timeout',
      error_message: 'the worker was lost in the middle of the call',
      decision: 'worker_lost',
    },
  };
  const again = { key: 'k1:bb', start: 2, worker: '4712@box', startedAtMs: START_MS + 3_000 };
  const call = { ...refusedRefund, state: 'running' as const, starts: 2, attempts: [lost, again] };

  it('is told with the worker that was lost, and why', () => {
    const shown = renderCall('run-4kx9mz', call, pipe);
    expect(shown).toContain('  start 1  failed after 2.4 s\n');
    expect(shown).toContain('worker          4711@box\n');
    expect(shown).toContain('error_message   the worker was lost in the middle of the call\n');
  });

  it('is running as long as the call runs, and no longer', () => {
    const [first, second, third] = sampleRun().steps;
    if (!first || !second || !third) throw new Error('the sample has three steps');
    const shownOf = (state: 'running' | 'failed') =>
      renderRun(sampleRun({ steps: [first, { ...second, calls: [{ ...call, state }] }, third] }), pipe);
    expect(shownOf('running')).toContain('start 1 failed after 2.4 s  timeout the worker was lost');
    expect(shownOf('running')).toContain('start 2 running\n');
    expect(shownOf('failed')).toContain('start 2 no end reported\n');
  });
});
