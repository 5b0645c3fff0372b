/** Command lines of a shell, as far as documentation uses it: enough to know which program is called with which words. */

/** Each command's words; pipes, lists, substitutions and subshells part commands, redirections and settings are left out. */
export function commandsIn(text: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  const finish = (): void => {
    const command = withoutSettings(words);
    if (command.length > 0) commands.push(command);
    words = [];
  };
  for (const [token] of text.replaceAll('\\\n', ' ').matchAll(TOKEN)) {
    if (/^(\s*#|[^\S\n]+$)/.test(token)) continue;
    if (/^(\n|&&|\|\||[<>$]?[|;&()])$/.test(token)) finish();
    else words.push(unquoted(token));
  }
  finish();
  return commands;
}

/** Spaces, a remark behind them, redirections, what parts commands, and words with quoted parts. */
const TOKEN =
  /(?<=^|\s)#[^\n]*|[^\S\n]+|\d?[<>]{1,2}&?(?!\()[^\S\n]*(?:\S+)?|\n|&&|\|\||\$\(|[<>]?[|;&()]|(?:'[^']*'|"[^"]*"|\\.|[^\s|;&()<>'"\\])+/gm;

function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, (_, single?: string, double?: string, one?: string) =>
    String(single ?? double ?? one),
  );
}

function withoutSettings(words: readonly string[]): string[] {
  const kept = words.filter((word) => !/^\d?[<>]/.test(word));
  const start = kept.findIndex((word) => !/^[A-Z_][A-Z0-9_]*=/.test(word));
  return start < 0 ? [] : kept.slice(start);
}
