import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import type { Platform } from './platform.js';

/**
 * Prints what may follow `words`, as the shell's script reads it. The last word is the one being typed, `''` for a new one.
 * What cannot be known just now (no configuration, a store that does not open) is left out: a shell that completes is no
 * place for errors.
 */
export async function completeWords(platform: Platform, program: Command, words: readonly string[]): Promise<void> {
  const root = tab(program);
  // What the shell's script calls, not what a person types.
  root.commands.delete('complete');
  const command = [...root.commands.values()].findLast(({ value }) => value === words[0]);
  const needsValues = command?.arguments.has('run') || words.some((word) => /^--(tool|call)/.test(word));
  if (needsValues) {
    const values = await platform.completionValues({ run: words[1] ?? '' }).catch(() => undefined);
    for (const one of values ? root.commands.values() : []) {
      const [run, tool, call] = [one.arguments.get('run'), one.options.get('tool'), one.options.get('call')];
      if (run) run.handler = (complete) => values?.runs.forEach(({ id, about }) => complete(id, about));
      if (tool) tool.handler = (complete) => values?.tools.forEach((name) => complete(name, ''));
      if (call) call.handler = (complete) => values?.calls.forEach(({ id, about }) => complete(id, about));
    }
  }
  root.parse([...words]);
}
