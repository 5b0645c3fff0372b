import picocolors from 'picocolors';

export type Colours = ReturnType<typeof picocolors.createColors>;

/** How to draw: colours on or off, how wide, and what time it is. */
export interface Style {
  colours: Colours;
  /** `Infinity` in a pipe: nothing is cut off or wrapped there. */
  columns: number;
  nowMs: number;
}

/** Narrower than this nothing readable fits; a smaller terminal wraps by itself. */
const MIN_COLUMNS = 40;
/** Running text is hard to read when wider. */
const MAX_TEXT_COLUMNS = 100;

export function makeStyle(options: { colour: boolean; columns: number | undefined; nowMs: number }): Style {
  return {
    colours: picocolors.createColors(options.colour),
    columns: options.columns === undefined ? Infinity : Math.max(MIN_COLUMNS, options.columns),
    nowMs: options.nowMs,
  };
}

/** Columns for running text that is indented by `indent`. */
export function textColumns(style: Style, indent: number): number {
  if (style.columns === Infinity) return Infinity;
  return Math.min(style.columns, MAX_TEXT_COLUMNS) - indent;
}
