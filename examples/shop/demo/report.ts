import type { CheckedEffect } from './expected-effects.ts';
import { duration, troublesOf, type CallStory, type StepStory } from './run-story.ts';
import { cut, table, wrap, type Style } from './text.ts';

/** What the demo tells at its end. */
export interface Report {
  steps: readonly StepStory[];
  answer: string;
  effects: readonly CheckedEffect[];
  /** Processes that were killed, each in a sentence. */
  kills: readonly string[];
}

/** The steps, what failed and how each was handled, and what happened in the shop. */
export function renderReport(report: Report, style: Style): string {
  return [
    section(
      'The steps',
      report.steps.flatMap((step) => stepLines(step, style)),
      style,
    ),
    section('What failed, and how it was handled', troubleLines(report, style), style),
    section('What happened in the shop (read from its database)', effectLines(report.effects, style), style),
    section(
      'The final answer',
      wrap(report.answer, style.columns - 2).map((line) => `  ${line}`),
      style,
    ),
  ].join('\n\n');
}

export function section(title: string, lines: readonly string[], style: Style): string {
  return [style.paint('bold', title), ...lines].join('\n');
}

function stepLines({ step, text, calls }: StepStory, style: Style): string[] {
  const words = calls.length === 0 ? 'The final answer, see below.' : text || '(no words)';
  const [first = '', ...rest] = wrap(words, style.columns - 6);
  const head = [`  ${String(step).padStart(2)}  ${first}`, ...rest.map((line) => `      ${line}`)];
  return [...head, ...calls.map((call) => callLine(call, style))];
}

function callLine(call: CallStory, style: Style): string {
  const succeeded = call.state === 'succeeded';
  const took = call.starts > 0 && call.elapsedMs !== undefined ? [duration(call.elapsedMs)] : [];
  const starts = call.starts > 1 ? [`${call.starts} starts`] : [];
  const failed = call.failure ? [call.failure.class] : succeeded ? [] : [call.state];
  const fate = [...failed, ...took, ...starts].join(', ');
  const args = typeof call.arguments === 'object' ? JSON.stringify(call.arguments) : call.arguments;
  const room = style.columns - 8 - fate.length - 2;
  const title = cut(`${call.tool} ${args ?? call.rawArguments ?? ''}`.trim(), room);
  const mark = succeeded ? style.paint('green', '✓') : style.paint('yellow', '✗');
  return `      ${mark} ${title}  ${style.paint('dim', fate)}`;
}

function troubleLines({ steps, kills }: Report, style: Style): string[] {
  const rows = troublesOf(steps).flatMap(({ callId, tool, what, handling }) => [
    [`${callId} ${tool}`, what],
    ['', `→ ${handling}`],
  ]);
  const killed = kills.flatMap((kill) => wrap(kill, style.columns - 4)).map((line) => `  ${line}`);
  return [...table(rows, style.columns), ...killed];
}

function effectLines(effects: readonly CheckedEffect[], style: Style): string[] {
  const lines = table(
    effects.map((effect) => [effect.kind, effect.subject, `${often(effect)}, asked for ${times(effect.requests)}`]),
    style.columns,
  );
  return lines.map((line, at) => (effects[at]?.right ? style.paint('green', line) : style.paint('red', line)));
}

function often({ times: count, expected }: CheckedEffect): string {
  if (!expected) return `${times(count)}, and does not belong to the task`;
  if (count === 0) return 'never';
  return count === 1 ? 'exactly once' : times(count).toUpperCase();
}

function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`;
}
