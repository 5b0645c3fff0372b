import { PerdureError } from '../../client/perdure-error.js';
import type { TranscriptEntry } from '../../client/run-reader.js';
import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, jsonOption, runArgument, wholeNumber, withNotes } from '../registration.js';
import { makeStyle } from '../render/style.js';
import { renderTranscript, transcriptMarkdown } from '../render/transcript-view.js';

export interface TranscriptCommandOptions {
  step?: number;
  json?: boolean;
  markdown?: boolean;
}

/** `perdure transcript RUN`: the conversation as the model saw it, whole or one step of it. */
export async function transcriptCommand(
  platform: Platform,
  idOrPrefix: string,
  options: TranscriptCommandOptions,
): Promise<number> {
  const client = await platform.openClient();
  try {
    const run = await client.get(idOrPrefix);
    const all = await client.transcript(run);
    if (all.length === 0) {
      throw new PerdureError(
        'usage',
        `${run.runId} has no conversation: it has not begun, or is a workflow of its own.`,
        {
          next: `perdure show ${run.runId}`,
        },
      );
    }
    const entries = options.step === undefined ? all : all.filter(({ step }) => step === options.step);
    if (entries.length === 0) throw noSuchStep(run.runId, options.step ?? 0, all);
    platform.out.write(`${render(entries, run.runId, platform, options)}\n`);
    return exitCodes.done;
  } finally {
    await client.close();
  }
}

function render(
  entries: readonly TranscriptEntry[],
  runId: string,
  platform: Platform,
  options: TranscriptCommandOptions,
): string {
  if (options.json) return JSON.stringify(entries, null, 2);
  if (options.markdown) return transcriptMarkdown(runId, entries);
  const { colour, columns } = platform.out;
  return renderTranscript(entries, makeStyle({ colour, columns, nowMs: platform.nowMs() }));
}

function noSuchStep(runId: string, step: number, all: readonly TranscriptEntry[]): PerdureError {
  const last = all.findLast((entry) => entry.step !== undefined)?.step ?? 0;
  const words = last === 0 ? 'the model has not answered yet' : `the model's last turn is step ${last}`;
  return new PerdureError('usage', `${runId} has no step ${step}; ${words}.`, { next: `perdure transcript ${runId}` });
}

export const addTranscript: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('transcript')
    .description('the conversation, exactly as the model saw it')
    .addArgument(runArgument())
    .option('--step <step>', 'only this model turn and the answers to its calls', wholeNumber)
    .option('--markdown', 'print Markdown, for an issue or a document')
    .addOption(jsonOption().conflicts('markdown'))
    .action(async (run: string, options: TranscriptCommandOptions) =>
      finish(await transcriptCommand(platform, run, options)),
    );
  withNotes(command, {
    examples: [
      'perdure transcript refund-1042',
      'perdure transcript refund-1042 --step 3',
      'perdure transcript refund-1042 --markdown > refund-1042.md',
      'perdure transcript refund-1042 --json | jq \'.[].message | select(.role == "tool").content\'',
    ],
  });
};
