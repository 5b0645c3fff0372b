/** How text sits in a terminal's columns. Everything here is pure and knows graphemes and wide characters. */

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** East Asian wide and fullwidth blocks (Unicode Standard Annex 11, the ones in use), and emoji shown as pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const ZERO_WIDTH = /^[\p{Mark}\u200b-\u200d\u2060\ufeff]+$/u;
// eslint-disable-next-line no-control-regex -- control characters are what this looks for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Columns that `text` takes, which must be printable and on one line. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/**
 * Text from a model, a tool or a backend with everything that steers a terminal (escape sequences, carriage returns,
 * changes of writing direction) made visible. Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    // The control pictures block has one picture for each of the first 32.
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\u{fffd}';
  });
}

/** `text` on one line: printable, with every run of white space as one space. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim());
}

/** At most `columns` wide, with `…` where something was cut off. */
export function cutToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return '';
  let kept = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = width + graphemeWidth(segment);
    if (next > columns - 1) break;
    kept += segment;
    width = next;
  }
  return `${kept.trimEnd()}…`;
}

export function padToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

export function padStartToWidth(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - displayWidth(text))) + text;
}

/** Lines of at most `columns`, broken at spaces where there are any; the text's own line breaks stay. */
export function wrapToWidth(text: string, columns: number): string[] {
  return printable(text)
    .replaceAll('\t', '  ')
    .split('\n')
    .flatMap((line) => wrapLine(line, columns));
}

function wrapLine(line: string, columns: number): string[] {
  if (displayWidth(line) <= columns) return [line.trimEnd()];
  const lines: string[] = [];
  let current = '';
  let width = 0;
  for (const word of line.split(/(?<= )/)) {
    const bare = displayWidth(word.trimEnd());
    if (width > 0 && width + bare > columns) {
      lines.push(current.trimEnd());
      current = '';
      width = 0;
    }
    for (const piece of bare > columns ? breakWord(word, columns) : [word]) {
      if (width > 0 && width + displayWidth(piece.trimEnd()) > columns) {
        lines.push(current.trimEnd());
        current = '';
        width = 0;
      }
      current += piece;
      width += displayWidth(piece);
    }
  }
  if (current.trimEnd() !== '') lines.push(current.trimEnd());
  return lines;
}

function breakWord(word: string, columns: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const { segment } of graphemes.segment(word)) {
    const next = graphemeWidth(segment);
    if (width + next > columns && piece !== '') {
      pieces.push(piece);
      piece = '';
      width = 0;
    }
    piece += segment;
    width += next;
  }
  return [...pieces, piece];
}
