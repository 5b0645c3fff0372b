import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../../scripts/check-package.mjs', import.meta.url));

const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
const canInstall = await fetch(registry, { signal: AbortSignal.timeout(10_000) }).then(
  (answer) => answer.status < 500,
  () => false,
);
if (!canInstall) console.warn(`Skipping the test of the published package: ${registry} does not answer`);

it.skipIf(!canInstall && process.env['CI'] === undefined)(
  'the published package is well-formed, and works in an empty project on the oldest Node.js and on this one',
  () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
    expect([status, stderr.replaceAll(/^installing Node.*\n/gm, '')]).toEqual([0, '']);
    const steps = stdout.trim().split('\n');
    for (const step of ['publint', 'attw', 'Node 22.18.0: run', `Node ${process.versions.node}: run`]) {
      expect(steps.some((line) => line.startsWith(`ok     ${step} (`))).toBe(true);
    }
    expect(steps.at(-1)).toBe('ok     the package works where it is installed');
  },
  600_000,
);
