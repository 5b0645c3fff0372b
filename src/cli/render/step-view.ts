import {
  type CallDescription,
  countersOf,
  type RunDescription,
  type StepDescription,
} from '../../client/run-description.js';
import { counted } from '../../policy/counted.js';
import { attemptLine, callLine, failureWords } from './call-lines.js';
import { formatDuration } from './duration.js';
import { paintRunState, runStateWord } from './state-word.js';
import { textColumns, type Style } from './style.js';
import { cutToWidth, oneLine, wrapToWidth } from './text-width.js';

/** Lines of a result that are shown before `--call` is pointed to. */
const SHOWN_RESULT_LINES = 3;

/** The view of `perdure show RUN`: how the run stands, each step with its calls, and the answer. */
export function renderRun(run: RunDescription, style: Style): string {
  const blocks = [
    renderHead(run, style),
    ...run.steps.filter((step) => !isAnswer(run, step)).map((step) => renderStep(run, step, style)),
    ...renderPending(run, style),
    ...renderStuck(run, style),
    ...renderEnd(run, style),
  ];
  return blocks.join('\n\n');
}

function renderHead(run: RunDescription, style: Style): string {
  const took = formatDuration((run.endedAtMs ?? style.nowMs) - run.startedAtMs);
  const time = run.endedAtMs === undefined ? `for ${took}` : `after ${took}`;
  const title = `${style.colours.bold(oneLine(run.id))}  ${paintRunState(run.state, style.colours)} ${time}`;
  const lines = [title, style.colours.dim(countWords(run)), ...labelled('task', run.task, style)];
  if (run.server?.url) lines.push(`${style.colours.dim('link')}  ${run.server.url}`);
  return lines.join('\n');
}

/** `5 steps, 7 calls, 1 failed, 3,210 tokens, $0.0132`. */
export function countWords(run: RunDescription): string {
  const { steps, calls, failures, inputTokens, outputTokens, costUsd } = run.result?.counters ?? countersOf(run.steps);
  return [
    counted(steps, 'step'),
    counted(calls, 'call'),
    ...(failures > 0 ? [`${failures} failed`] : []),
    counted(inputTokens + outputTokens, 'token'),
    ...(costUsd > 0 ? [`$${costUsd.toFixed(4)}`] : []),
  ].join(', ');
}

function labelled(label: string, text: string, style: Style): string[] {
  const lines = wrapToWidth(text, textColumns(style, 6));
  return lines.map((line, index) => (index === 0 ? `${style.colours.dim(label)}  ${line}` : `      ${line}`));
}

function renderStep(run: RunDescription, step: StepDescription, style: Style): string {
  const words = indented(step.text, 2, style);
  const calls = step.calls.flatMap((call) => callBlock(run, call, style));
  return [style.colours.bold(`step ${step.step}`), ...words.filter((line) => line.trim() !== ''), ...calls].join('\n');
}

/** The last turn's text is the answer, which is shown whole at the end. */
function isAnswer(run: RunDescription, step: StepDescription): boolean {
  return step === run.steps.at(-1) && step.calls.length === 0 && run.result !== undefined && run.result.answer !== '';
}

function callBlock(run: RunDescription, call: CallDescription, style: Style): string[] {
  const lines = [callLine(call, style, '  ')];
  const quiet = (line: string): string => style.colours.dim(line);
  if (call.attempts.length > 1 || call.attempts.some((attempt) => attempt.failure)) {
    const columns = style.columns - 10;
    lines.push(
      ...call.attempts.map((attempt) => quiet(`          ${cutToWidth(attemptLine(call, attempt), columns)}`)),
    );
  }
  if (call.failure) return [...lines, ...indented(failureWords(call.failure), 10, style)];
  if (call.modelSees === undefined) return lines;
  const shown = indented(call.modelSees, 10, style);
  lines.push(...shown.slice(0, SHOWN_RESULT_LINES).map(quiet));
  if (shown.length > SHOWN_RESULT_LINES) {
    lines.push(quiet(`          … the whole: perdure show ${run.id} --call ${call.callId}`));
  }
  return lines;
}

function indented(text: string, indent: number, style: Style): string[] {
  return wrapToWidth(text, textColumns(style, indent)).map((line) => (' '.repeat(indent) + line).trimEnd());
}

/** What the server still waits for; tells a stuck run from a slow one. */
function renderPending(run: RunDescription, style: Style): string[] {
  const stuck = run.server?.pending.filter((work) => work.lastFailure !== undefined) ?? [];
  if (stuck.length === 0) return [];
  const lines = stuck.flatMap((work) => {
    const name = oneLine(work.activity);
    const wait =
      work.nextAttemptAtMs === undefined ? '' : `, again in ${formatDuration(work.nextAttemptAtMs - style.nowMs)}`;
    const title = cutToWidth(`  ${name}  attempt ${work.attempt}${wait}`, style.columns);
    return [style.colours.yellow(title), ...indented(work.lastFailure ?? '', 4, style)];
  });
  return [[style.colours.bold('being tried again'), ...lines].join('\n')];
}

/** Nothing goes on by itself where the workflow task fails again and again. */
function renderStuck(run: RunDescription, style: Style): string[] {
  const stuck = run.server?.stuck;
  if (!stuck) return [];
  const words = `its workflow task failed ${stuck.attempts} times: ${stuck.reason}`;
  const next = `What does not fit, and what to do: perdure replay ${run.id}`;
  return [[style.colours.red('stuck'), ...indented(words, 2, style), ...indented(next, 2, style)].join('\n')];
}

function renderEnd(run: RunDescription, style: Style): string[] {
  if (run.result) {
    const { answer, termination } = run.result;
    const blocks = answer === '' ? [] : [[style.colours.bold('answer'), ...indented(answer, 2, style)].join('\n')];
    if (termination.reason === 'answered') return blocks;
    return [
      ...blocks,
      [style.colours.bold(`ended: ${termination.reason}`), ...indented(termination.summary, 2, style)].join('\n'),
    ];
  }
  if (run.state === 'waiting') return ['No worker has taken the run up yet. Start one: perdure worker'];
  if (run.state === 'terminated' || run.state === 'timed_out') {
    return [`The run was ended from outside (${runStateWord(run.state)}) and has no result.`];
  }
  return [];
}
