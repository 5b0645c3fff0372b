import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectClient, configuredServer, resolveServer } from '../../src/server/connection.js';
import { writeDevFile } from '../../src/server/dev-file.js';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdure-connection-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const toml = `
[profile.default]
address = "temporal.example:7233"
namespace = "agents"

[profile.cloud]
address = "agents.a1b2c.tmprl.cloud:7233"
namespace = "agents.a1b2c"
api_key = "secret"

[profile.mtls]
address = "mtls.example:7233"
[profile.mtls.tls]
client_cert_data = "CERT"
client_key_data = "KEY"
server_name = "inner.example"
`;

async function withProfiles(): Promise<Record<string, string>> {
  const file = join(home, 'temporal.toml');
  await writeFile(file, toml);
  return { HOME: home, TEMPORAL_CONFIG_FILE: file };
}

describe('a configured server', () => {
  it('is none without variables and without a file', () => {
    expect(configuredServer({ HOME: home })).toBeUndefined();
  });

  it('is none where only the CLI is named, or a variable is empty', () => {
    expect(configuredServer({ HOME: home, TEMPORAL_CLI_PATH: '/bin/temporal', TEMPORAL_ADDRESS: '' })).toBeUndefined();
  });

  it('is the one of TEMPORAL_ADDRESS, without TLS, in the default namespace', () => {
    expect(configuredServer({ HOME: home, TEMPORAL_ADDRESS: '10.0.0.7:7233' })).toEqual({
      kind: 'configured',
      source: 'TEMPORAL_ADDRESS',
      advice: 'Start that server, correct TEMPORAL_ADDRESS, or unset it to use the embedded server of this folder.',
      address: '10.0.0.7:7233',
      namespace: 'default',
      client: { address: '10.0.0.7:7233' },
      worker: { address: '10.0.0.7:7233' },
    });
  });

  it('is the usual local one where only a namespace is set', () => {
    const server = configuredServer({ HOME: home, TEMPORAL_NAMESPACE: 'agents' });
    expect(server).toMatchObject({ address: 'localhost:7233', namespace: 'agents', source: 'TEMPORAL_NAMESPACE' });
    expect(server?.advice).toContain('set TEMPORAL_ADDRESS too, or unset TEMPORAL_NAMESPACE');
  });

  it('is the default profile of a temporal.toml', async () => {
    const env = await withProfiles();
    expect(configuredServer(env)).toMatchObject({
      address: 'temporal.example:7233',
      namespace: 'agents',
      source: `profile "default" of ${env['TEMPORAL_CONFIG_FILE']}`,
      advice: expect.stringContaining(`the address of profile "default" in ${env['TEMPORAL_CONFIG_FILE']}`),
    });
  });

  it('is the address of the profile, although a variable sets something else', async () => {
    const server = configuredServer({ ...(await withProfiles()), TEMPORAL_NAMESPACE: 'other' });
    expect(server).toMatchObject({ namespace: 'other', source: expect.stringContaining('profile "default" of') });
  });

  it('uses TLS and the API key of the profile that TEMPORAL_PROFILE names', async () => {
    const server = configuredServer({ ...(await withProfiles()), TEMPORAL_PROFILE: 'cloud' });
    expect(server).toMatchObject({
      source: expect.stringContaining('profile "cloud"'),
      namespace: 'agents.a1b2c',
      client: { address: 'agents.a1b2c.tmprl.cloud:7233', apiKey: 'secret', tls: true },
      worker: { address: 'agents.a1b2c.tmprl.cloud:7233', apiKey: 'secret', tls: true },
    });
  });

  it('hands client certificates to both connections', async () => {
    const server = configuredServer({ ...(await withProfiles()), TEMPORAL_PROFILE: 'mtls' });
    const tls = {
      serverNameOverride: 'inner.example',
      clientCertPair: { crt: Buffer.from('CERT'), key: Buffer.from('KEY') },
    };
    expect(server?.worker.tls).toMatchObject({ serverNameOverride: tls.serverNameOverride });
    const pair = (server?.client.tls as { clientCertPair: { crt: Uint8Array; key: Uint8Array } }).clientCertPair;
    expect([Buffer.from(pair.crt).toString(), Buffer.from(pair.key).toString()]).toEqual(['CERT', 'KEY']);
  });

  it('lets TEMPORAL_ADDRESS win over the profile', async () => {
    const env = { ...(await withProfiles()), TEMPORAL_ADDRESS: '10.0.0.7:7233' };
    expect(configuredServer(env)).toMatchObject({ address: '10.0.0.7:7233', namespace: 'agents' });
  });

  it('refuses a profile that does not exist, by the name of the variable', async () => {
    const env = { ...(await withProfiles()), TEMPORAL_PROFILE: 'prod' };
    expect(() => configuredServer(env)).toThrow("TEMPORAL_PROFILE: Profile 'prod' not found");
  });

  it('refuses a file that does not exist instead of using another server', () => {
    const env = { HOME: home, TEMPORAL_CONFIG_FILE: join(home, 'nowhere.toml') };
    expect(() => configuredServer(env)).toThrow(`TEMPORAL_CONFIG_FILE: no such file: ${join(home, 'nowhere.toml')}`);
  });

  it('refuses a file that is no TOML, by its path', async () => {
    const file = join(home, 'broken.toml');
    await writeFile(file, '[profile.default\naddress');
    expect(() => configuredServer({ HOME: home, TEMPORAL_CONFIG_FILE: file })).toThrow(file);
  });
});

describe('resolving without a configured server', () => {
  // Reserved and never listened on: connections are refused at once.
  const nobody = '127.0.0.1:1';

  it('finds none where nothing answers', async () => {
    const resolved = await resolveServer({ rootDir: home, env: { HOME: home }, usualAddress: nobody });
    expect(resolved).toEqual({ kind: 'none', sought: nobody });
  });

  it.each([
    ['is not JSON', 'not json'],
    ['has no address', '{"pid": 1}'],
    ['is null', 'null'],
  ])('ignores a dev.json that %s', async (_, text) => {
    await writeDevFile(home, { address: nobody, uiUrl: '', pid: process.pid, namespace: 'default' });
    await writeFile(join(home, '.perdure', 'dev.json'), text);
    const resolved = await resolveServer({ rootDir: home, env: { HOME: home }, usualAddress: nobody });
    expect(resolved).toEqual({ kind: 'none', sought: nobody });
  });

  it('ignores a dev.json whose process is alive but whose server does not answer', async () => {
    await writeDevFile(home, { address: nobody, uiUrl: '', pid: process.pid, namespace: 'default' });
    const resolved = await resolveServer({ rootDir: home, env: { HOME: home }, usualAddress: nobody });
    expect(resolved).toEqual({ kind: 'none', sought: nobody });
  });

  it('takes something that listens but does not speak Temporal for no server', async () => {
    const mute = await listen();
    try {
      const { port } = mute.address() as { port: number };
      const resolved = await resolveServer({ rootDir: home, env: { HOME: home }, usualAddress: `127.0.0.1:${port}` });
      expect(resolved).toEqual({ kind: 'none', sought: `127.0.0.1:${port}` });
    } finally {
      mute.close();
    }
  });

  it('says at once that a connection is refused, which setting chose the address, and what to do about that', async () => {
    const server = configuredServer({ HOME: home, TEMPORAL_ADDRESS: nobody });
    if (!server) throw new Error('not configured');
    const askedAtMs = performance.now();
    await expect(connectClient(server)).rejects.toMatchObject({
      message: 'no Temporal server answers at 127.0.0.1:1 (chosen by TEMPORAL_ADDRESS): the connection is refused',
      next: 'Start that server, correct TEMPORAL_ADDRESS, or unset it to use the embedded server of this folder.',
    });
    expect(performance.now() - askedAtMs).toBeLessThan(1_000);
  });

  it('waits for an answer of what only listens as long as it is told, and no longer', async () => {
    const mute = await listen();
    try {
      const { port } = mute.address() as { port: number };
      const server = configuredServer({ HOME: home, TEMPORAL_ADDRESS: `127.0.0.1:${port}` });
      if (!server) throw new Error('not configured');
      await expect(connectClient(server, 500)).rejects.toThrow(
        /^no Temporal server answers at 127\.0\.0\.1:\d+ \(chosen by TEMPORAL_ADDRESS\): /,
      );
    } finally {
      mute.close();
    }
  });
});

function listen(): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined).unref());
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}
