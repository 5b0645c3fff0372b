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
