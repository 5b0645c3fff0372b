/** Escape sequences of terminals: CSI, OSC (ended by BEL or ST) and two-character ones. */
const terminalEscapes =
  // eslint-disable-next-line no-control-regex -- control characters are what this removes
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|\u009b[0-?]*[ -/]*[@-~]/g;
// eslint-disable-next-line no-control-regex -- control characters are what this removes
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff]/g;

/** Without terminal escapes and control characters (tab and newline stay); lone surrogates become U+FFFD. */
export function printable(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(terminalEscapes, '').replace(controls, ' ').toWellFormed();
}

/**
 * The text's head and tail, at most `maxChars` UTF-16 units with the notice of how many characters were left out between
 * them; unchanged where it fits. The head gets two thirds: an error says first what failed and last why. Never splits a
 * surrogate pair.
 */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const notice = (omitted: number) => `\n… ${omitted} characters omitted …\n`;
  const room = Math.max(0, maxChars - notice(text.length).length);
  const headEnd = pairSafe(text, Math.ceil((room * 2) / 3));
  let tailStart = text.length - (room - Math.ceil((room * 2) / 3));
  if (isLowSurrogate(text, tailStart)) tailStart += 1;
  return text.slice(0, headEnd) + notice(tailStart - headEnd) + text.slice(tailStart);
}

function pairSafe(text: string, end: number): number {
  return isLowSurrogate(text, end) ? end - 1 : end;
}

/** True where `index` is the second half of a pair, so that cutting before it would split the pair. */
function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  if (!(code >= 0xdc00 && code <= 0xdfff)) return false;
  const before = text.charCodeAt(index - 1);
  return before >= 0xd800 && before <= 0xdbff;
}
