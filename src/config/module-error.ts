/** What a person is told of a file of theirs that does not load: where the mistake is, and what it is. */
export function moduleErrorWords(error: unknown, file: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const syntax = /^(?:ParseError|SyntaxError): ([^\n]*?)\s*\n?\s*(\S[^\n]*:\d+:\d+)\s*$/.exec(message);
  if (syntax) return `${syntax[2] ?? file}: ${syntax[1] ?? message}`;
  const missing = /Cannot find (?:module|package) '([^']+)'/.exec(message)?.[1];
  return missing === undefined ? `${placeOf(error, file)}: ${message}` : missingWords(missing, file);
}

function missingWords(name: string, file: string): string {
  const isFile = /^[./]/.test(name) || /^[A-Za-z]:\\/.test(name);
  return `${file} imports '${name}', which ${isFile ? 'does not exist' : `is not installed; type: npm install ${packageOf(name)}`}`;
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The line of the file that threw, where the stack names one. */
function placeOf(error: unknown, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const start = stack.indexOf(`${file}:`);
  return (start < 0 ? undefined : /^.*?:\d+(?=:\d+|\))/.exec(stack.slice(start))?.[0]) ?? file;
}
