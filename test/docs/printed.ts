/**
 * The first of the expected lines that is not in the output, behind the one before it. `…` stands for anything; times,
 * addresses, made-up run ids and the width of columns are not compared.
 */
export function firstMissing(output: string, expected: string): string | undefined {
  const printed = output.split('\n').map(comparable);
  let at = 0;
  for (const line of expected.split('\n')) {
    const parts = comparable(line).split('…');
    if (parts.every((part) => part === '')) continue;
    const pattern = new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
    const found = printed.findIndex((each, index) => index >= at && pattern.test(each));
    if (found < 0) return line;
    at = found + 1;
  }
  return undefined;
}

function comparable(line: string): string {
  return line
    .replace(/\d+(\.\d+)? (ms|s|min|h)\b/g, 'TIME')
    .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replace(/\brun-[a-z2-9]{6}\b/g, 'RUN')
    .replace(/\s+/g, ' ')
    .trim();
}
