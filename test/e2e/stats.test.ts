import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FailureFigures } from '../../src/stats/failure-stats.js';

const bin = fileURLToPath(new URL('../../bin/perdure.js', import.meta.url));

const config = `
import { defineConfig, defineTool, ToolError } from 'perdure';
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false });
let asked = 0;
export default defineConfig({
  model: 'scripted:script.ts',
  secrets: ['hunter2hunter2'],
  alerts: { webhook: process.env.ALERT_WEBHOOK },
  tools: [
    defineTool({ name: 'refund', description: 'Refund.', effect: { idempotent: 'key' },
      input: object({ order: { type: 'string' }, cents: { type: 'integer' } }), execute: ({ cents }) => ({ refunded: cents }) }),
    defineTool({ name: 'flaky', description: 'Down at first.', effect: 'read', input: object({}), execute: () => {
      if ((asked += 1) === 1) throw Object.assign(new Error('busy'), { status: 503 });
      return { ok: true };
    } }),
    defineTool({ name: 'vault', description: 'Closed.', effect: 'read', input: object({}), execute: () => {
      throw new ToolError({ class: 'permission_denied', effect: 'none', publicMessage: 'The vault is closed.' });
    } }),
  ],
});`;

const script = `
export default ({ messages }) => {
  const turns = messages.filter((message) => message.role === 'assistant').length;
  if (turns === 0) return { calls: [
    { tool: 'refund', input: { order: 'hunter2hunter2', cents: 'many' } }, { tool: 'flaky', input: {} },
  ] };
  if (turns === 1) return { calls: [{ tool: 'refund', input: { order: '1042', cents: 250 } }, { tool: 'vault', input: {} }] };
  return { text: 'Refunded.' };
};`;

describe('an agent whose calls failed in several ways', () => {
  let dir: string;
  const posted: Record<string, unknown>[] = [];
  // Down at first: an alert is sent once more.
  const webhook = createServer(async (request, response) => {
    posted.push(JSON.parse(await text(request)) as Record<string, unknown>);
    response.writeHead(posted.length === 1 ? 503 : 204).end();
  });
  beforeAll(async () => {
    await once(webhook.listen(0, '127.0.0.1'), 'listening');
    dir = await mkdtemp(join(tmpdir(), 'perdure-stats-'));
    await writeFile(join(dir, 'perdure.config.ts'), config);
    await writeFile(join(dir, 'script.ts'), script);
    expect(await perdure('run', '--id', 'mixed', 'refund order 1042')).toMatchObject({ out: 'Refunded.\n' });
  });
  afterAll(async () => {
    webhook.close();
    await rm(dir, { recursive: true, force: true });
  });

  async function perdure(...args: string[]): Promise<{ out: string; err: string }> {
    const { TEMPORAL_ADDRESS: _address, TEMPORAL_PROFILE: _profile, ...env } = process.env;
    const { port } = webhook.address() as AddressInfo;
    const options = {
      cwd: dir,
      env: { ...env, NO_COLOR: '1', ALERT_WEBHOOK: `http://127.0.0.1:${String(port)}/hook` },
    };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [bin, ...args], options);
    return { out: stdout, err: stderr };
  }

  it('is told of by perdure stats: rates, attempts, failing arguments and what the model corrected', async () => {
    const figures = JSON.parse((await perdure('stats', '--since', '1h', '--json')).out) as FailureFigures;
    expect(figures.all).toMatchObject({
      calls: 4,
      succeeded: 2,
      failed: 1,
      aborted: 1,
      successRate: 0.5,
      correctable: 1,
      corrected: 1,
      selfCorrectionRate: 1,
    });
    expect(figures).toMatchObject({ runs: 1, stepsPerRun: { mean: 3, p50: 3, max: 3 } });
    expect((await perdure('show', 'mixed')).out).toMatch(/^3 steps, 4 calls/m);
    const tools = Object.fromEntries(figures.tools.map((tool) => [tool.tool, tool]));
    expect(tools['refund']).toMatchObject({ calls: 2, failingPaths: [{ path: '/cents', count: 1 }] });
    expect(tools['flaky']).toMatchObject({ calls: 1, successRate: 1, attempts: 2, attemptsPerCall: 2 });
    expect(tools['vault']?.failures).toEqual([
      { class: 'permission_denied', family: 'business', code: 'AUTH_DENIED_001', count: 1 },
    ]);
    expect(figures.hours.reduce((sum, { calls }) => sum + calls, 0)).toBe(4);
  });

  it('alerts the webhook of the abort, once more where it was down, with its context', () => {
    expect(posted).toHaveLength(2);
    expect(posted[1]).toEqual(posted[0]);
    expect(posted[0]).toMatchObject({
      text: 'perdure alert: aborted (vault)',
      rule: 'aborted',
      tool: 'vault',
      call_id: 'c2.1',
      error_type: 'permission_denied',
    });
  });

  it('is exported as pairs of a failed call and its correction, without secrets', async () => {
    const { out } = await perdure('export', 'failures', '--since', '1h');
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      {
        runKey: expect.any(String),
        tool: 'refund',
        failed: {
          callId: 'c1.0',
          step: 1,
          arguments: { order: '[redacted]', cents: 'many' },
          class: 'validation_error',
          code: 'PARAM_INVALID_001',
          message: expect.stringContaining('cents'),
          suggestedAction: expect.any(String),
          invalidPaths: ['/cents'],
          endedAtMs: expect.any(Number),
        },
        corrected: { callId: 'c2.0', step: 2, arguments: { order: '1042', cents: 250 }, endedAtMs: expect.any(Number) },
      },
    ]);
    expect(out).not.toContain('hunter2');
  });

  it('is told of in tables to people, of one tool where they ask for it', async () => {
    const all = (await perdure('stats')).out;
    expect(all).toContain(
      '4 calls in 1 run, 50 % succeeded, 3 steps a run (median 3, most 3), 1 of 1 failure corrected',
    );
    expect(all).toMatch(/^refund +2 +50 % +1 /m);
    expect(all).toMatch(/^\/cents +1 +refund$/m);
    const one = (await perdure('stats', '--tool', 'vault')).out;
    expect(one).toMatch(/^permission_denied +1 +100 % +business +AUTH_DENIED_001 +vault$/m);
    expect(one).not.toContain('refund');
    expect(await perdure('stats', '--tool', 'nothing')).toEqual({
      out: '',
      err: expect.stringContaining('No call of nothing has ended yet.'),
    });
  });
});
