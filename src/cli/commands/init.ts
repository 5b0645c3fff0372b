import { exitCodes } from '../exit-code.js';
import type { Platform } from '../platform.js';
import { type AddCommand, jsonOption, withNotes } from '../registration.js';

/** `perdure init [DIR]`: a new project that runs at once. */
export async function initCommand(platform: Platform, dir: string, options: { json?: boolean }): Promise<number> {
  const project = await platform.createProject(dir);
  if (options.json) {
    platform.out.write(`${JSON.stringify(project, null, 2)}\n`);
    return exitCodes.done;
  }
  platform.out.write(project.files.map((file) => `${file}\n`).join(''));
  const lines = [
    ...(dir === '.' ? [] : [`cd ${inShell(dir)}`]),
    // The registry has another version than the clone, if it has one.
    `npm install${project.clone === undefined ? '' : ` ${inShell(project.clone)}`}`,
    'npm start      runs it; a script plays the model, so no key is needed',
    'npm test       a refund whose answer is lost happens once',
  ];
  platform.err.write(`\nA new agent in ${project.dir}. Next:\n\n${lines.map((line) => `  ${line}\n`).join('')}`);
  return exitCodes.done;
}

function inShell(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : JSON.stringify(path);
}

export const addInit: AddCommand = (program, { platform, finish }) => {
  const command = program
    .command('init')
    .description('make a new project that runs at once; never overwrites')
    .argument('[dir]', 'its folder', '.')
    .addOption(jsonOption())
    .action(async (dir: string, options: { json?: boolean }) => finish(await initCommand(platform, dir, options)));
  withNotes(command, { examples: ['perdure init my-agent', 'perdure init'] });
};
