/**
 * What npm would publish, in the hands of somebody who installs it: packed, judged by publint and attw, installed into an
 * empty project on the oldest Node.js that is promised and on today's, and used there: every entry imported and typed, a
 * run from the command line. Takes about a minute; needs the registry, `dist` (npm run build) and TEMPORAL_CLI_PATH.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { projectFiles } from './package-project.mjs';
import { root } from './set-up.mjs';
import { getNode, oldestNode } from './set-up/node.mjs';

const folder = mkdtempSync(join(tmpdir(), 'perdure-package-'));
try {
  const tarball = pack();
  run('publint', 'npx', ['publint', 'run', tarball, '--strict'], { cwd: root });
  // The package is ES modules only, and says so with `type` and `exports`.
  run('attw', 'npx', ['attw', tarball, '--profile', 'esm-only', '--format', 'ascii'], { cwd: root });
  const oldest = `${oldestNode.major}.${oldestNode.minor}.0`;
  const old = await getNode(oldest, (line) => console.error(line));
  use(tarball, { name: `Node ${oldest}`, path: `${old}${delimiter}${process.env.PATH ?? ''}`, isOldest: true });
  use(tarball, { name: `Node ${process.versions.node}`, path: process.env.PATH ?? '' });
  console.log('ok     the package works where it is installed');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function pack() {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [{ filename, files }] = JSON.parse(run('pack', 'npm', args, { cwd: root }));
  const strangers = files
    .map((/** @type {{ path: string }} */ { path }) => path)
    .filter(
      (/** @type {string} */ path) =>
        !/^(dist|bin|templates)\/|^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(path),
    );
  if (strangers.length > 0) throw new Error(`the package holds ${strangers.join(', ')}`);
  return join(folder, filename);
}

/**
 * @param {string} tarball
 * @param {{ name: string, path: string, isOldest?: boolean }} node
 */
function use(tarball, { name, path, isOldest = false }) {
  const project = join(folder, name.replaceAll(' ', '-'));
  mkdirSync(project);
  for (const [file, text] of Object.entries(projectFiles)) writeFileSync(join(project, file), text);
  const { TEMPORAL_ADDRESS: _address, TEMPORAL_PROFILE: _profile, ...inherited } = process.env;
  const options = { cwd: project, env: { ...inherited, PATH: path, NO_COLOR: '1' } };
  const step = (/** @type {string} */ what, /** @type {string} */ command, /** @type {string[]} */ args) =>
    run(`${name}: ${what}`, command, args, options);
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel', 'error'];
  step('install', 'npm', ['install', ...quiet, tarball]);
  expect(step('import', 'node', ['import.mjs']), 'perdure perdure/workflow perdure/worker perdure/testing');
  if (isOldest) step('types', 'node', [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']);
  expect(step('help', 'npx', ['perdure', '--help']), 'Durable tool calls for LLM agents');
  expect(step('run', 'npx', ['perdure', 'run', '--id', 'first', 'Look up 7']), 'Seen: 7');
  expect(step('show', 'npx', ['perdure', 'show', 'first']), 'completed');
}

/**
 * Runs a command to its end, says how long it took, and returns its standard output.
 *
 * @param {string} what
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
 */
function run(what, command, args, options) {
  const started = Date.now();
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...options,
    encoding: 'utf8',
    timeout: 240_000,
  });
  if (error || status !== 0) {
    throw new Error(
      `${what}: \`${command} ${args.join(' ')}\` ended with ${status ?? error?.message}:\n${stdout}${stderr}`,
    );
  }
  console.log(`ok     ${what} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  return stdout;
}

/**
 * @param {string} output
 * @param {string} part
 */
function expect(output, part) {
  if (!output.includes(part)) throw new Error(`expected ${JSON.stringify(part)} in:\n${output}`);
}
