import type { TranscriptEntry } from '../../client/run-reader.js';
import type { TranscriptMessage } from '../../contract/transcript.js';
import { spread } from './call-view.js';
import { textColumns, type Style } from './style.js';
import { oneLine, wrapToWidth } from './text-width.js';

/** The conversation for a terminal: who speaks, in which step, and what was said. */
export function renderTranscript(entries: readonly TranscriptEntry[], style: Style): string {
  return entries.map((entry) => renderEntry(entry, style)).join('\n\n');
}

function renderEntry({ step, message }: TranscriptEntry, style: Style): string {
  const { bold, dim, red } = style.colours;
  const at = step === undefined ? '' : `  ${dim(`step ${step}`)}`;
  const title = bold(speaker(message));
  const failed = message.role === 'tool' && message.failed ? red('  failed') : '';
  return [`${title}${at}${failed}`, ...bodyLines(message, style)].join('\n');
}

function bodyLines(message: TranscriptMessage, style: Style): string[] {
  const lines = (text: string): string[] =>
    text === '' ? [] : wrapToWidth(text, textColumns(style, 2)).map((line) => `  ${line}`.trimEnd());
  switch (message.role) {
    case 'system':
    case 'user':
      return lines(message.text);
    case 'assistant':
      return [
        ...lines(message.text),
        ...message.calls.flatMap(({ callId, modelName, rawArguments }) =>
          lines(`→ ${callId} ${modelName} ${rawArguments}`),
        ),
      ];
    case 'tool':
      return [...lines(spread(message.content)), ...attachmentLines(message).flatMap(lines)];
  }
}

function attachmentLines(message: Extract<TranscriptMessage, { role: 'tool' }>): string[] {
  return (message.attachments ?? []).map(({ mediaType, bytes }) => `[${mediaType}, ${bytes} bytes]`);
}

function speaker(message: TranscriptMessage): string {
  return message.role === 'tool' ? oneLine(`tool ${message.callId} ${message.modelName}`) : message.role;
}

/** The conversation as Markdown: a heading for each message, arguments and results as code. */
export function transcriptMarkdown(runId: string, entries: readonly TranscriptEntry[]): string {
  const blocks = entries.flatMap(({ step, message }) => {
    const title = `## ${speaker(message)}${step === undefined ? '' : ` (step ${step})`}`;
    return [title, ...markdownBody(message)];
  });
  return [`# ${runId}`, ...blocks].join('\n\n');
}

function markdownBody(message: TranscriptMessage): string[] {
  switch (message.role) {
    case 'system':
    case 'user':
      return [message.text];
    case 'assistant':
      return [
        ...(message.text === '' ? [] : [message.text]),
        ...message.calls.flatMap(({ callId, modelName, rawArguments }) => [
          `Call ${callId} of \`${modelName}\`:`,
          fenced(spread(rawArguments)),
        ]),
      ];
    case 'tool':
      return [...(message.failed ? ['Failed:'] : []), fenced(spread(message.content)), ...attachmentLines(message)];
  }
}

/** A fence longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  const isJson = /^[[{]/.test(text);
  return `${fence}${isJson ? 'json' : ''}\n${text}\n${fence}`;
}
