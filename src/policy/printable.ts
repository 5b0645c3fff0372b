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
