/**
 * All tests, project by project (together they would fight for the cores and time out), then one line that sums them
 * up: `Tests: N passed, N failed`. Arguments go to vitest, e.g. a path. Needs TEMPORAL_CLI_PATH, or a CLI to be found.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './set-up.mjs';
import { sum, tally } from './tally.mjs';

const projects = ['unit', 'replay', 'e2e'];
const folder = mkdtempSync(join(tmpdir(), 'perdure-tests-'));
const tallies = [];
for (const project of projects) {
  console.log(`\n${project}`);
  const report = join(folder, `${project}.json`);
  const code = await vitest([
    ...['run', '--project', project, '--passWithNoTests'],
    ...['--reporter', 'default', '--reporter', 'json', '--outputFile.json', report],
    ...process.argv.slice(2),
  ]);
  tallies.push(tally(readReport(report), code));
}
rmSync(folder, { recursive: true, force: true });

const { passed, failed, skipped } = sum(tallies);
if (skipped > 0) console.log(`${skipped} skipped`);
if (passed + failed === 0) console.log('no test ran');
console.log(`Tests: ${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;

/**
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function vitest(args) {
  return new Promise((resolve, reject) => {
    const child = spawn('vitest', args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** @param {string} path */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
