import { styleText } from 'node:util';

/** How text is shown: with colours on a terminal, plain in a pipe. */
export interface Style {
  columns: number;
  paint(format: 'bold' | 'dim' | 'green' | 'red' | 'yellow', text: string): string;
}

/** The style that fits a stream; `NO_COLOR` and `FORCE_COLOR` are honoured. */
export function styleFor(stream: NodeJS.WriteStream): Style {
  return {
    columns: Math.min(stream.columns ?? 100, 100),
    paint: (format, text) => styleText(format, text, { stream }),
  };
}

/** Breaks text into lines of at most that many columns, between words where it can. */
export function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > columns) {
        lines.push(line);
        line = word;
      } else {
        line = line === '' ? word : `${line} ${word}`;
      }
    }
    return [...lines, line];
  });
}

/** Cuts text to one line of that many columns, with a mark where something is missing. Keeps its indentation. */
export function cut(text: string, columns: number): string {
  const oneLine = text.replace(/\n\s*/g, ' ');
  return oneLine.length <= columns ? oneLine : `${oneLine.slice(0, Math.max(0, columns - 1))}…`;
}

/** Rows as columns that line up; the last one is wrapped. */
export function table(rows: readonly (readonly string[])[], columns: number, indent = '  '): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.slice(0, -1).entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  const lead = indent.length + widths.reduce((sum, width) => sum + width + 2, 0);
  return rows.flatMap((row) => {
    const head = row.slice(0, -1).map((cell, at) => cell.padEnd((widths[at] ?? 0) + 2));
    const [first = '', ...rest] = wrap(row.at(-1) ?? '', Math.max(20, columns - lead));
    return [`${indent}${head.join('')}${first}`.trimEnd(), ...rest.map((line) => ' '.repeat(lead) + line)];
  });
}
