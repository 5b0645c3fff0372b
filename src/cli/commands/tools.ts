import type { SchemaWarning } from '../../arguments/check-tool-schema.js';
import { effectWord } from '../../client/run-description.js';
import type { ManifestTool } from '../../contract/manifest.js';
import { counted } from '../../policy/counted.js';
import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { formatDuration } from '../render/duration.js';
import { makeStyle, textColumns, type Style } from '../render/style.js';
import { cutToWidth, displayWidth, oneLine, padToWidth, wrapToWidth } from '../render/text-width.js';
import { type AddCommand, jsonOption, withNotes } from '../registration.js';

export interface ToolsCommandOptions {
  json?: boolean;
}

/** `perdure tools`: the configuration's tools and what running each twice does. */
export async function toolsCommand(platform: Platform, options: ToolsCommandOptions): Promise<number> {
  const tools = await platform.loadTools();
  if (options.json) {
    platform.out.write(`${JSON.stringify(tools, null, 2)}\n`);
  } else if (tools.length === 0) {
    platform.err.write('The configuration has no tools yet. Add one: tools: [defineTool({ … })]\n');
  } else {
    platform.out.write(`${toolLines(tools, outStyle(platform)).join('\n')}\n`);
  }
  return exitCodes.done;
}

/** `perdure tools check`: what in the tools' schemas works and makes models err. Ends with 2 where there is anything. */
export async function toolsCheckCommand(platform: Platform, options: ToolsCommandOptions): Promise<number> {
  const tools = await platform.loadTools();
  // The checker brings the schema machinery along, which nothing else on the command line needs.
  const { checkToolSchema } = await import('../../arguments/check-tool-schema.js');
  const checked = tools.map((tool) => ({ tool: tool.name, warnings: checkToolSchema(tool) }));
  const faulty = checked.filter(({ warnings }) => warnings.length > 0);
  if (options.json) {
    platform.out.write(`${JSON.stringify(checked, null, 2)}\n`);
  } else if (faulty.length === 0) {
    platform.out.write(`${counted(tools.length, 'tool is', 'tools are')} fine.\n`);
  } else {
    const style = outStyle(platform);
    const blocks = faulty.map(({ tool, warnings }) => warningLines(tool, warnings, style).join('\n'));
    platform.out.write(`${blocks.join('\n\n')}\n`);
  }
  return faulty.length === 0 ? exitCodes.done : exitCodes.usage;
}

function toolLines(tools: readonly Pick<ManifestTool, 'name' | 'description' | 'policy'>[], style: Style): string[] {
  const rows = tools.map(({ name, description, policy }) => [
    name,
    effectWord(policy.effect),
    formatDuration(policy.timeoutMs),
    oneLine(description),
  ]);
  const header = ['NAME', 'EFFECT', 'TIMEOUT', 'DESCRIPTION'];
  const widths = header.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map(displayWidth)),
  );
  const line = (cells: string[]): string => {
    const padded = cells.map((cell, column) => padToWidth(cell, widths[column] ?? 0));
    return cutToWidth(padded.join('  ').trimEnd(), style.columns);
  };
  return [style.colours.dim(line(header)), ...rows.map(line)];
}

function warningLines(tool: string, warnings: readonly SchemaWarning[], style: Style): string[] {
  const lines = warnings.flatMap(({ path, problem }) =>
    wrapToWidth(path === '' ? problem : `${path}: ${problem}`, textColumns(style, 4)),
  );
  return [style.colours.bold(tool), ...lines.map((line) => `  ${line}`)];
}

function outStyle(platform: Platform): Style {
  const { colour, columns } = platform.out;
  return makeStyle({ colour, columns, nowMs: platform.nowMs() });
}

export const addTools: AddCommand = (program, { platform, finish }) => {
  const tools = program
    .command('tools')
    .description('list the tools of the configuration')
    .addOption(jsonOption())
    .action(async (options: ToolsCommandOptions) => finish(await toolsCommand(platform, options)));
  const check = tools
    .command('check')
    .description('warn of what in their schemas makes models err; ends with 2 where there is anything')
    .action(async () => finish(await toolsCheckCommand(platform, tools.opts<ToolsCommandOptions>())));
  withNotes(tools, {
    examples: [
      'perdure tools',
      "perdure tools --json | jq '.[] | {name, inputSchema}'  the schemas as the model gets them",
    ],
  });
  withNotes(check, { examples: ['perdure tools check'] });
};
