import { spawn } from 'node:child_process';

const progressEveryMs = 10_000;

/**
 * Runs a command to its end without showing its output, unless it fails: then the error carries the output's end.
 * Logs a line every 10 s, so that nobody takes a slow step for a hanging one.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, log: (line: string) => void, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<void>}
 */
export function runQuietly(command, args, { cwd, log, env = process.env }) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const shown = `${command} ${args.join(' ')}`;
    const child = spawn(command, args, { cwd, env: withoutNpmRun(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (/** @type {Buffer} */ chunk) => (output = (output + chunk.toString()).slice(-4_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const progress = setInterval(
      () => log(`  ${shown}: ${Math.round((Date.now() - started) / 1000)} s so far`),
      progressEveryMs,
    );
    child.on('error', (error) => {
      clearInterval(progress);
      reject(new Error(`${shown}: ${error.message}`));
    });
    child.on('close', (code, signal) => {
      clearInterval(progress);
      if (code === 0) resolve();
      else reject(new Error(`\`${shown}\` ended with ${code ?? signal}:\n${output.trim()}`));
    });
  });
}

/**
 * An npm that runs inside `npm run` must not take the outer one's package for its own.
 *
 * @param {NodeJS.ProcessEnv} env
 */
function withoutNpmRun(env) {
  const inherited = /^(npm_package_|npm_lifecycle_|npm_command$|npm_config_local_prefix$|INIT_CWD$)/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !inherited.test(name)));
}
