import { expect, it } from 'vitest';
import { Project } from '../../support/command-line.js';
import { temporalServer } from '../../support/temporal-server.js';
import { startTlsFront, type TlsFront } from '../../support/tls-front.js';

const config = `
import { defineConfig } from 'perdure';
export default defineConfig({ model: 'scripted:script.json', tools: [] });`;
const script = JSON.stringify({ turns: [{ text: 'Reached.' }] });

/** A folder whose `temporal.toml` has a profile for the front, without what a client must show. */
async function projectFor(profile: string): Promise<Project> {
  const project = await Project.open({ 'perdure.config.ts': config, 'script.json': script, 'temporal.toml': profile });
  return project;
}

function profileOf(front: TlsFront, lines: string[]): string {
  return [
    '[profile.prod]',
    `address = "${front.address}"`,
    `namespace = "${temporalServer().namespace}"`,
    ...lines,
    '[profile.prod.tls]',
    `server_ca_cert_path = "${front.files.ca}"`,
    'server_name = "temporal.test"',
  ].join('\n');
}

async function runThrough(project: Project): Promise<string> {
  const env = { TEMPORAL_CONFIG_FILE: `${project.dir}/temporal.toml`, TEMPORAL_PROFILE: 'prod' };
  const worker = project.start(['worker'], env);
  await worker.errHas('Ctrl-C stops.');
  expect(worker.err()).toContain('profile "prod"');
  const { code, out, err } = await project.start(['run', '--follow', 'reach it'], env).ended;
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  return code === 0 ? out : err;
}

it('client and worker reach a cluster that asks for a certificate, by a profile of temporal.toml', async () => {
  await using front = await startTlsFront(temporalServer().address, { clients: 'certificate' });
  const certificate = [`client_cert_path = "${front.files.cert}"`, `client_key_path = "${front.files.key}"`];
  await using project = await projectFor(`${profileOf(front, [])}\n${certificate.join('\n')}\n`);
  expect(await runThrough(project)).toBe('Reached.\n');
});

it('client and worker send the API key of a profile with every request', async () => {
  await using front = await startTlsFront(temporalServer().address, { clients: 'key', key: 'secret-key' });
  await using project = await projectFor(profileOf(front, ['api_key = "secret-key"']));
  expect(await runThrough(project)).toBe('Reached.\n');
  expect(new Set(front.authorizations)).toEqual(new Set(['Bearer secret-key']));
});

it('a client without what the cluster asks for is told which profile it used', async () => {
  await using front = await startTlsFront(temporalServer().address, { clients: 'certificate' });
  await using project = await projectFor(profileOf(front, []));
  const env = { TEMPORAL_CONFIG_FILE: `${project.dir}/temporal.toml`, TEMPORAL_PROFILE: 'prod' };
  const { code, err } = await project.start(['worker'], env).ended;
  expect(code).not.toBe(0);
  expect(err).toContain(`no Temporal server answers at ${front.address} (chosen by profile "prod"`);
});
