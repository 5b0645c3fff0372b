import type { Finding } from '../../client/diagnosis.js';
import { counted } from '../../policy/counted.js';
import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, jsonOption, withNotes } from '../registration.js';
import { makeStyle, textColumns, type Style } from '../render/style.js';
import { displayWidth, oneLine, padToWidth, wrapToWidth } from '../render/text-width.js';

/** `perdure doctor`: looks at all that a run needs. Ends with 0, with 2 where something is a problem. */
export const addDoctor: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('doctor')
    .description('look at everything that a run needs; ends with 2 where something is a problem')
    .addOption(jsonOption())
    .action(async (options: { json?: boolean }) => finish(await doctorCommand(platform, options)));
  withNotes(command, {
    examples: ['perdure doctor', 'perdure doctor --json | jq \'.findings[] | select(.status != "ok")\''],
  });
};

async function doctorCommand(platform: Platform, { json }: { json?: boolean }): Promise<number> {
  const diagnosis = await platform.diagnose();
  const { findings } = diagnosis;
  const { colour, columns } = platform.out;
  const style = makeStyle({ colour, columns, nowMs: platform.nowMs() });
  platform.out.write(`${json ? JSON.stringify(diagnosis, null, 2) : renderFindings(findings, style)}\n`);
  return findings.some(({ status }) => status === 'problem') ? exitCodes.usage : exitCodes.done;
}

function renderFindings(findings: readonly Finding[], style: Style): string {
  const width = Math.max(...findings.map(({ subject }) => displayWidth(subject)));
  const lines = findings.flatMap((finding) => findingLines(finding, width, style));
  const problems = findings.filter(({ status }) => status === 'problem').length;
  const warnings = findings.filter(({ status }) => status === 'warning').length;
  return [...lines, '', `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}`].join('\n');
}

function findingLines(
  { subject, status, words, next }: Finding,
  width: number,
  { colours, ...style }: Style,
): string[] {
  const marks = { ok: colours.green('ok     '), warning: colours.yellow('warning'), problem: colours.red('problem') };
  const indent = ' '.repeat(9 + width + 2);
  const [first = '', ...more] = wrapToWidth(oneLine(words), textColumns({ colours, ...style }, indent.length));
  const advice = (next ?? '').split('\n').filter((line) => line !== '');
  return [
    `${marks[status]}  ${padToWidth(subject, width)}  ${first}`,
    ...more.map((line) => `${indent}${line}`),
    ...advice.map((line) => `${indent}→ ${line}`),
  ];
}
