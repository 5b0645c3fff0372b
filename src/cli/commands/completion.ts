import { readFileSync } from 'node:fs';
import { script } from '@bomb.sh/tab';
import { Argument } from 'commander';
import { exitCodes } from '../exit-code.js';
import { type AddCommand, withNotes } from '../registration.js';

/**
 * The library's scripts for these two evaluate what is being typed as a command; that for bash needs the package
 * bash-completion and cannot be sourced twice, that for zsh breaks names with a colon and needs compinit before.
 */
const OWN_SCRIPTS = new URL('../../../templates/completion/', import.meta.url);

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
type Shell = (typeof SHELLS)[number];

export const addCompletion: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('completion')
    .description("print a shell's script that completes commands, options, runs, calls and tools")
    .addArgument(new Argument('<shell>', 'the shell that is to complete').choices(SHELLS))
    .action((shell: Shell) => {
      if (shell === 'bash' || shell === 'zsh') {
        platform.out.write(readFileSync(new URL(`perdure.${shell}`, OWN_SCRIPTS), 'utf8'));
      } else {
        // Prints it; the program is called by its name, wherever that leads.
        script(shell, 'perdure', 'perdure');
      }
      finish(exitCodes.done);
    });
  withNotes(command, {
    examples: [
      'source <(perdure completion bash)  for this shell; in ~/.bashrc for all',
      'perdure completion zsh > ~/.perdure-completion.zsh  and source it in ~/.zshrc',
      'perdure completion fish > ~/.config/fish/completions/perdure.fish',
    ],
  });
};
