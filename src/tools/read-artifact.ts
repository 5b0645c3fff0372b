import { mediaTypeOf, placeholderOf, textOf } from '../results/binary.js';
import { withoutControls } from '../results/clean-text.js';
import { counted } from '../policy/counted.js';
import { toolOf } from './define-tool.js';
import { ToolError } from './tool-error.js';
import type { Tool, ToolContext } from './tool.js';

/**
 * Loads a stored body for a run. It must give `undefined` for every id that is not of that run's own calls: a model may
 * write any id, and another run's results are not its to read.
 */
export type LoadArtifact = (
  artifactId: string,
  /** `key` is the reading call's own. */
  run: { runId: string; callId: string; key: string; signal: AbortSignal },
) => Promise<Uint8Array | undefined>;

interface ReadArtifactInput {
  artifact_id: string;
  first_line?: number;
  line_count?: number;
  search?: string;
}

/** Longer lines are wrapped, so that JSON on one line can be read in parts too. */
const widestLine = 1000;
/** Bytes of one answer's JSON: below what a result may have (`defaultResultTokens`), so that an answer is never cut itself. */
const answerBytes = 12_000;
const defaultLines = 200;
const mostMatches = 50;

export const readArtifactName = 'read_artifact';

/**
 * The built-in tool that reads what was too long for a message: by lines, or by searching for a text. `load` decides
 * which ids a run may read.
 */
export function readArtifactTool(load: LoadArtifact): Tool {
  return toolOf(
    `tools.${readArtifactName}`,
    {
      name: readArtifactName,
      description:
        'Read a result that was too long to be shown whole. Give the artifact_id of the truncated result; ' +
        'read by lines with first_line and line_count, or find lines with search.',
      input: {
        type: 'object',
        properties: {
          artifact_id: { type: 'string', description: 'The artifact_id of a truncated result' },
          first_line: { type: 'integer', minimum: 1, description: 'First line to read, from 1. Default 1' },
          line_count: { type: 'integer', minimum: 1, maximum: 2000, description: 'Lines to read. Default 200' },
          search: { type: 'string', minLength: 1, description: 'Give only lines that hold this text, in any case' },
        },
        required: ['artifact_id'],
        additionalProperties: false,
      },
      effect: 'read',
      breaker: false,
      retryBudget: false,
    },
    { source: 'builtin', execute: (value, ctx) => readArtifact(load, value as ReadArtifactInput, ctx) },
  );
}

async function readArtifact(load: LoadArtifact, input: ReadArtifactInput, ctx: ToolContext): Promise<unknown> {
  const { runId, callId, idempotencyKey: key, signal } = ctx;
  const bytes = await load(input.artifact_id, { runId, callId, key, signal });
  if (!bytes) {
    throw new ToolError({
      class: 'not_found',
      effect: 'none',
      publicMessage: `This run has no stored result with the artifact_id "${input.artifact_id}".`,
      hint: 'Use an artifact_id exactly as a truncated result gave it.',
    });
  }
  const text = textOf(bytes);
  if (text === undefined) {
    const content = placeholderOf({ mediaType: mediaTypeOf(bytes), bytes });
    return { artifact_id: input.artifact_id, content, note: 'This is no text and cannot be read by lines.' };
  }
  const lines = linesOf(text);
  return input.search === undefined ? readLines(lines, input) : searchLines(lines, input.search, input);
}

/** A stored text is JSON text; other JSON is indented, so that its lines mean something. */
function linesOf(stored: string): string[] {
  let text = stored;
  try {
    const json: unknown = JSON.parse(stored);
    text = typeof json === 'string' ? json : JSON.stringify(json, undefined, 2);
  } catch {
    // Stored as it was.
  }
  return withoutControls(text)
    .split(/\r\n|\r|\n/)
    .flatMap((line) => (line.length <= widestLine ? [line] : (line.match(/[^]{1,1000}/gu) ?? [])));
}

function readLines(lines: string[], input: ReadArtifactInput): unknown {
  const first = input.first_line ?? 1;
  if (first > lines.length) {
    throw new ToolError({
      class: 'validation_error',
      effect: 'none',
      publicMessage: `first_line is ${String(first)}, but this result has ${counted(lines.length, 'line')}.`,
      hint: `Read from a line between 1 and ${String(lines.length)}.`,
    });
  }
  const taken: string[] = [];
  let bytes = 0;
  for (const line of lines.slice(first - 1, first - 1 + (input.line_count ?? defaultLines))) {
    bytes += jsonBytes(line);
    if (bytes > answerBytes && taken.length > 0) break;
    taken.push(line);
  }
  const last = first + taken.length - 1;
  return {
    artifact_id: input.artifact_id,
    first_line: first,
    last_line: last,
    total_lines: lines.length,
    ...(last < lines.length ? { next_line: last + 1 } : {}),
    text: taken.join('\n'),
  };
}

function searchLines(lines: string[], search: string, input: ReadArtifactInput): unknown {
  const wanted = search.toLowerCase();
  const first = input.first_line ?? 1;
  const matches: { line: number; text: string }[] = [];
  let total = 0;
  let bytes = 0;
  lines.forEach((line, index) => {
    if (index + 1 < first || !line.toLowerCase().includes(wanted)) return;
    total += 1;
    // The line's number and the keys around it take some 30 bytes.
    bytes += jsonBytes(line) + 30;
    if (matches.length < mostMatches && bytes <= answerBytes) matches.push({ line: index + 1, text: line });
  });
  return {
    artifact_id: input.artifact_id,
    total_lines: lines.length,
    total_matches: total,
    ...(matches.length < total ? { next_line: (matches.at(-1)?.line ?? 0) + 1 } : {}),
    matches,
  };
}

function jsonBytes(line: string): number {
  return Buffer.byteLength(JSON.stringify(line));
}
