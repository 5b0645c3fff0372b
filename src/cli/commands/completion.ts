import { script } from '@bomb.sh/tab';
import { Argument } from 'commander';
import { exitCodes } from '../exit-code.js';
import { type AddCommand, withNotes } from '../registration.js';

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
type Shell = (typeof SHELLS)[number];

export const addCompletion: AddCommand = (program, { finish }) => {
  const command = program
    .command('completion')
    .description("print a shell's script that completes commands, options, runs, calls and tools")
    .addArgument(new Argument('<shell>', 'the shell that is to complete').choices(SHELLS))
    .action((shell: Shell) => {
      // Prints it; the program is called by its name, wherever that leads.
      script(shell, 'perdure', 'perdure');
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
