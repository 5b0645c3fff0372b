/** Everything that can be known without a server, in under a minute: types, lint, format, unit tests. */
import { spawn } from 'node:child_process';
import { root } from './set-up.mjs';

/**
 * @typedef {{ name: string, command: string, args: string[] }} Check
 */

/** @type {Check[]} */
const readings = [
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'format', command: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'lint', command: 'eslint', args: ['.'] },
];
/** @type {Check[]} */
const tests = [{ name: 'unit tests', command: 'vitest', args: ['run', '--project', 'unit'] }];

// The tests mostly wait for what they start, so the compilers fit in beside them.
const results = await Promise.all([readings, tests].map(inOrder));
process.exitCode = results.every(Boolean) ? 0 : 1;

/**
 * Runs checks one after the other, whatever they say; each one's output is shown as a whole, and only if it fails.
 *
 * @param {Check[]} checks
 */
async function inOrder(checks) {
  let ok = true;
  for (const check of checks) {
    const started = Date.now();
    const { code, output } = await run(check);
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    if (code !== 0) console.log(output.trim());
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${check.name} (${seconds} s)`);
    ok &&= code === 0;
  }
  return ok;
}

/**
 * @param {Check} check
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function run({ command, args }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (/** @type {Buffer} */ chunk) => (output += chunk.toString());
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
