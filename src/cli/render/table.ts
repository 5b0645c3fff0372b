import type { Style } from './style.js';
import { cutToWidth, displayWidth, padStartToWidth, padToWidth } from './text-width.js';

/** Rows under a header; columns of numbers (and `–`) stand to the right. No line is wider than the terminal. */
export function renderTable(header: string[], rows: string[][], style: Style): string {
  const widths = header.map((title, column) =>
    rows.reduce((width, cells) => Math.max(width, displayWidth(cells[column] ?? '')), displayWidth(title)),
  );
  const isNumber = header.map((_, column) => rows.every((cells) => /^(?:–|[\d.])/.test(cells[column] ?? '')));
  const line = (cells: string[]): string => {
    const padded = cells.map((cell, column) => {
      const width = widths[column] ?? 0;
      return isNumber[column] && column > 0 ? padStartToWidth(cell, width) : padToWidth(cell, width);
    });
    return cutToWidth(padded.join('  ').trimEnd(), style.columns);
  };
  return [style.colours.dim(line(header)), ...rows.map(line)].join('\n');
}
