import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Project, type Running } from '../../support/command-line.js';
import { readCompose, startComposeStack, type ComposeService, type ComposeStack } from '../../support/compose-stack.js';
import { describeCompose } from '../../support/describe-compose.js';

const file = (name: string) => readFileSync(fileURLToPath(new URL(`../../../${name}`, import.meta.url)), 'utf8');

describeCompose('docker-compose.yml', () => {
  let services: Record<string, ComposeService>;
  beforeAll(() => {
    services = readCompose();
  });

  it('holds for Docker: every mount is there, every image has its exact version, no port is open to others', () => {
    expect(Object.keys(services).sort()).toEqual([
      ...['postgres', 'sample', 'temporal', 'temporal-namespace', 'temporal-schema', 'temporal-ui', 'worker'],
    ]);
    for (const [name, { image, volumes = [], ports = [] }] of Object.entries(services)) {
      if (name !== 'worker' && name !== 'sample')
        expect([name, image]).toEqual([name, expect.stringMatching(/:\d+\.\d+/)]);
      for (const { type, source, read_only } of volumes.filter(({ type }) => type === 'bind')) {
        expect([name, type, source, read_only]).toEqual([name, 'bind', expect.stringContaining('/deploy/'), true]);
        expect(spawnSync('test', ['-e', source]).status).toBe(0);
      }
      for (const { host_ip } of ports) expect([name, host_ip]).toEqual([name, '127.0.0.1']);
    }
  });

  it('gives the server the settings that the embedded one has', () => {
    const settings = file('deploy/temporal/dynamic-config.yaml');
    const embedded = file('src/server/dev-arguments.ts');
    for (const [, key, value] of settings.matchAll(/^([a-zA-Z.]+):\n {2}- value: (\S+)$/gm)) {
      expect(embedded).toMatch(new RegExp(`'${key}': '?${value}'?,`));
    }
  });

  it('builds workers that are not root, on the Node.js that set-up brings', () => {
    const dockerfile = file('Dockerfile');
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    const pinned = /pinnedNode = '(.+)'/.exec(file('scripts/set-up/node.mjs'))?.[1];
    expect(bases).toEqual([`node:${pinned}-bookworm-slim`, `node:${pinned}-bookworm-slim`]);
    expect(/^USER (\S+)$/m.exec(dockerfile)?.[1]).toBe('node');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, paths]) => paths?.split(' ') ?? [],
    );
    const sent = file('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    expect(sent.map((line) => line.slice(1)).sort()).toEqual([...new Set(copied)].sort());
  });
});

describeCompose('the services of docker-compose.yml as processes', () => {
  let stack: ComposeStack;
  let project: Project;
  let workers: Running[];

  beforeAll(async () => {
    stack = await startComposeStack();
    project = await Project.open({}, stack.environment('worker'));
    cpSync(stack.hostPath('worker', '/agent'), project.dir, { recursive: true });
    workers = [startWorker(), startWorker()];
    for (const worker of workers) await worker.errHas('Ctrl-C stops.');
  }, 120_000);
  afterAll(async () => {
    await project?.[Symbol.asyncDispose]();
    await stack?.[Symbol.asyncDispose]();
  });

  /** With the arguments of the file, but on this machine's own interface and free ports. */
  function startWorker(): Running {
    const args = stack.services['worker']?.command ?? [];
    return project.start(args.map((arg) => (/^\d+$/.test(arg) ? '0' : arg === '0.0.0.0' ? '127.0.0.1' : arg)));
  }

  it('are ready by the health check of the file', async () => {
    const [kind, command = '', ...args] = stack.services['worker']?.healthcheck?.test ?? [];
    expect([kind, command]).toEqual(['CMD', 'node']);
    for (const worker of workers) {
      const url = await worker.errHas(/health\s+(\S+)\/readyz/);
      const asked = args.map((arg) => arg.replace('http://127.0.0.1:8081', url));
      expect(asked.at(-1)).toContain(url);
      expect(spawnSync(process.execPath, asked).status).toBe(0);
      expect(
        spawnSync(
          process.execPath,
          args.map((arg) => arg.replace('8081', '1')),
        ).status,
      ).toBe(1);
    }
  });

  it('bring the sample run to its end, though the worker that refunds is killed meanwhile', async () => {
    const [, , task = ''] = stack.services['sample']?.command ?? [];
    const run = project.start(['run', '--follow', '--id', 'sample', task]);
    const refunding = (worker: Running) => /"msg":"refunding"/.test(worker.err());
    await expect.poll(() => workers.some(refunding), { timeout: 60_000, interval: 20 }).toBe(true);
    const victim = workers.find(refunding);
    victim?.child.kill('SIGKILL');
    await victim?.ended;

    const { code, out } = await run.ended;
    expect([code, out]).toEqual([
      0,
      'Your order 1042 has been refunded: 89.00 will be on your account within three days.\n',
    ]);
    const shown = JSON.parse((await project.run('show', 'sample', '--json')).out) as {
      state: string;
      steps: { calls: { tool: string; modelSees: string; attempts: unknown[] }[] }[];
    };
    const refund = shown.steps[1]?.calls[0];
    expect(shown.state).toBe('completed');
    expect([refund?.tool, refund?.attempts.length]).toEqual(['refund_order', 2]);
    // Both workers sent the same key, of which the backend would make one refund.
    const keys = workers.map((worker) => /"key":"(k1:\w+)".*"msg":"refunding"/.exec(worker.err())?.[1]);
    expect(new Set(keys).size).toBe(1);
  });

  it('registered what a run may be found by', async () => {
    const log = workers.map((worker) => worker.err()).join('\n');
    expect(log).not.toContain('does not know the search attributes');
    const listed = JSON.parse((await project.run('list', '--json')).out) as { id: string; state: string }[];
    expect(listed).toMatchObject([{ id: 'sample', state: 'completed' }]);
  });

  it('may be set up once more, as after a restart, and stop in order', async () => {
    await stack.runToEnd('temporal-schema');
    await stack.runToEnd('temporal-namespace');
    for (const worker of workers.filter(({ child }) => child.exitCode === null && child.signalCode === null)) {
      worker.child.kill('SIGTERM');
      expect((await worker.ended).code).toBe(0);
    }
  });
});
