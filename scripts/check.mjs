/** Everything that can be known without a server, in under a minute: types, lint, format, unit tests. */
import { spawn } from 'node:child_process';
import { root } from './set-up.mjs';

const checks = [
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'lint', command: 'eslint', args: ['.'] },
  { name: 'format', command: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'unit tests', command: 'vitest', args: ['run', '--project', 'unit', '--reporter', 'dot'] },
];

let failed = false;
for (const check of checks) {
  const started = Date.now();
  const { code, output } = await run(check);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (code !== 0) {
    failed = true;
    console.log(output.trim());
  }
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${check.name} (${seconds} s)`);
}
process.exitCode = failed ? 1 : 0;

/**
 * @param {{ command: string, args: string[] }} check
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
