/**
 * `node scripts/launch.mjs NEED -- COMMAND …`: sets up what the need asks for (see set-up.mjs), then runs the command
 * with the right Node first on PATH, and ends as the command ended.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { needs, setUp } from './set-up.mjs';

const [need, dashes, command, ...args] = process.argv.slice(2);
const known = needs.find((name) => name === need);
if (!known || (dashes !== undefined && (dashes !== '--' || !command))) {
  console.error(`usage: node scripts/launch.mjs ${needs.join('|')} [-- COMMAND …]`);
  process.exit(2);
}

/** @type {NodeJS.ProcessEnv} */
let env;
try {
  env = await setUp(known);
} catch (error) {
  console.error(`set-up: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
if (command) run(command);

/** @param {string} program */
function run(program) {
  const child = spawn(program, args, { stdio: 'inherit', env });
  // Ctrl-C on a terminal reaches the whole process group by itself; sending it on would make it two.
  const forward = (/** @type {NodeJS.Signals} */ signal) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, forward);
  child.on('error', (error) => {
    console.error(`${program}: ${error.message}`);
    process.exitCode = 127;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal ?? 'SIGTERM'];
  });
}
