/**
 * The text's head and tail, at most `maxChars` UTF-16 units with the notice of how many characters were left out between
 * them; unchanged where it fits. The head gets two thirds: an error says first what failed and last why. Never splits a
 * surrogate pair.
 */
export function cutToChars(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const notice = (omitted: number) => `\n… ${omitted} characters omitted …\n`;
  const room = Math.max(0, maxChars - notice(text.length).length);
  const headEnd = pairSafe(text, Math.ceil((room * 2) / 3));
  let tailStart = text.length - (room - Math.ceil((room * 2) / 3));
  if (splitsPair(text, tailStart)) tailStart += 1;
  return text.slice(0, headEnd) + notice(tailStart - headEnd) + text.slice(tailStart);
}

/** A text's head and tail, and how much of it they are. */
export interface CutText {
  text: string;
  /** Characters (UTF-16 units) of the original that are still there. */
  shown: number;
  total: number;
}

/**
 * Keeps the head and the tail of a text, half of `maxBytes` (UTF-8) each, with a notice of what is missing between them.
 * Both ends fall on line ends where one is near, and never within a character. The notice is not counted.
 */
export function cutToBytes(text: string, maxBytes: number, whereWhole = ''): CutText {
  const total = text.length;
  if (lengthWithin(text, maxBytes) === total) return { text, shown: total, total };
  const head = headOf(text, Math.ceil(maxBytes / 2));
  const tail = tailOf(text, Math.floor(maxBytes / 2));
  const shown = head.length + tail.length;
  const notice = `… (${inWords(total - shown)} characters omitted${whereWhole}) …`;
  return { text: `${head}\n${notice}\n${tail}`, shown, total };
}

/** `12,345`. */
export function inWords(count: number): string {
  return count.toLocaleString('en-US');
}

/** How far a cut moves to fall on a line end. */
const nearness = 200;

function headOf(text: string, maxBytes: number): string {
  let end = lengthWithin(text, maxBytes);
  const lineEnd = text.lastIndexOf('\n', end);
  if (lineEnd > end - nearness && lineEnd > 0) end = lineEnd;
  return text.slice(0, end).trimEnd();
}

function tailOf(text: string, maxBytes: number): string {
  // Mirrored, a tail is a head; only the far end of the text is looked at.
  let start = text.length;
  for (let bytes = 0; start > 0;) {
    const code = text.codePointAt(start - (splitsPair(text, start - 1) ? 2 : 1)) ?? 0;
    bytes += byteLengthOf(code);
    if (bytes > maxBytes) break;
    start -= code > 0xffff ? 2 : 1;
  }
  const lineEnd = text.indexOf('\n', start);
  if (lineEnd >= 0 && lineEnd < start + nearness) start = lineEnd + 1;
  return text.slice(start).trimStart();
}

function lengthWithin(text: string, maxBytes: number): number {
  let end = 0;
  for (let bytes = 0; end < text.length;) {
    const code = text.codePointAt(end) ?? 0;
    bytes += byteLengthOf(code);
    if (bytes > maxBytes) break;
    end += code > 0xffff ? 2 : 1;
  }
  return end;
}

function byteLengthOf(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

function pairSafe(text: string, end: number): number {
  return splitsPair(text, end) ? end - 1 : end;
}

/** True where `index` is the second half of a pair, so that cutting before it would split the pair. */
function splitsPair(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  if (!(code >= 0xdc00 && code <= 0xdfff)) return false;
  const before = text.charCodeAt(index - 1);
  return before >= 0xd800 && before <= 0xdbff;
}
