import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metricKinds } from '../../../src/activities/metrics.js';
import { Project, type Running } from '../../support/command-line.js';
import { temporalServer } from '../../support/temporal-server.js';

const config = `
import { defineConfig, defineTool, ToolError } from 'perdure';
const input = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false };
export default defineConfig({
  model: 'scripted:script.json',
  tools: [
    defineTool({ name: 'look', description: 'Look.', effect: 'read', input, execute: ({ id }) => ({ id }) }),
    defineTool({ name: 'refuse', description: 'Refuse.', input, breaker: { failures: 1 }, execute: ({ id }) => {
      throw new ToolError({ class: id === 'down' ? 'server_error' : 'not_found', effect: 'none', publicMessage: 'no' });
    }, retry: { server_error: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1 } } }),
    defineTool({ name: 'render', description: 'Render.', effect: 'read', input, taskQueue: 'perdure-test-gpu',
      execute: ({ id }) => ({ id, renderedBy: process.env.ROLE }) }),
  ],
});`;

const script = JSON.stringify({
  turns: [
    {
      calls: [
        { tool: 'look', input: { id: '7' } },
        { tool: 'look', input: {} },
        { tool: 'refuse', input: { id: 'down' } },
        { tool: 'render', input: { id: '3d' } },
      ],
    },
    { text: 'Done.' },
  ],
});

describe('perdure worker', () => {
  let project: Project;
  let worker: Running;
  let gpu: Running;
  let health: string;
  let metrics: string;

  beforeAll(async () => {
    const { address, namespace } = temporalServer();
    project = await Project.open(
      { 'perdure.config.ts': config, 'script.json': script },
      { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
    );
    worker = project.start(['worker', '--health-port', '0', '--metrics-port', '0'], { ROLE: 'main' });
    health = await worker.errHas(/health\s+(\S+)\/readyz/);
    metrics = await worker.errHas(/metrics\s+(\S+)/);
    gpu = project.start(['worker', '--task-queue', 'perdure-test-gpu'], { ROLE: 'gpu' });
    await gpu.errHas('Ctrl-C stops.');
  });
  afterAll(() => project[Symbol.asyncDispose]());

  it('says that it lives and is ready, and what else can be asked', async () => {
    const live = await fetch(`${health}/healthz`);
    expect([live.status, await live.json()]).toEqual([200, { live: true }]);
    const ready = await fetch(`${health}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, problems: {} }]);
    expect((await fetch(`${health}/else`)).status).toBe(404);
  });

  it('leaves the calls of a tool with a task queue of its own to the worker that serves it', async () => {
    const { code, out } = await project.run('run', '--id', 'measured', '--follow', 'measure this');
    expect([code, out]).toEqual([0, 'Done.\n']);
    const shown = JSON.parse((await project.run('show', 'measured', '--json')).out) as {
      steps: { calls: { callId: string; modelSees: string }[] }[];
    };
    const render = shown.steps[0]?.calls.find(({ callId }) => callId === 'c1.3');
    expect(JSON.parse(render?.modelSees ?? '')).toMatchObject({ data: { id: '3d', renderedBy: 'gpu' } });
  });

  it('is refused where no tool names the queue that it is to serve', async () => {
    const { code, err } = await project.run('worker', '--task-queue', 'nosuch');
    expect([code, err]).toEqual([
      2,
      'perdure: No tool names the task queue "nosuch".\nTools name: perdure-test-gpu.\n',
    ]);
  });

  it('counts calls, attempts, failures by class, breakers, steps and tokens for Prometheus', async () => {
    const text = await (await fetch(metrics)).text();
    const lines = text.split('\n');
    const value = (name: string, ...tags: string[]): number | undefined => {
      const line = lines.find((each) => each.startsWith(`${name}{`) && tags.every((tag) => each.includes(tag)));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    };
    expect(value('perdure_calls_total', 'tool="look"', 'status="succeeded"')).toBe(1);
    expect(value('perdure_calls_total', 'tool="look"', 'error_type="validation_error"')).toBe(1);
    expect(value('perdure_calls_total', 'tool="refuse"', 'error_type="server_error"')).toBe(1);
    expect(value('perdure_attempts_total', 'tool="refuse"', 'error_type="server_error"')).toBe(2);
    expect(value('perdure_call_attempts_sum', 'tool="refuse"')).toBe(2);
    expect(value('perdure_call_duration_seconds_count', 'tool="look"', 'status="succeeded"')).toBe(1);
    expect(value('perdure_breaker_state', 'breaker="refuse"')).toBe(2);
    expect(value('perdure_runs_total', 'status="completed"', 'reason="answered"')).toBe(1);
    expect(value('perdure_run_steps_sum', 'status="completed"')).toBe(2);
    expect(value('gen_ai_client_token_usage_count', 'gen_ai_token_type="input"')).toBe(2);
    expect(value('gen_ai_client_operation_duration_seconds_count', 'gen_ai_operation_name="chat"')).toBe(2);
    expect(lines.some((line) => line.startsWith('temporal_activity_execution_latency_seconds'))).toBe(true);
    const undocumented = Object.keys(metricKinds).filter((name) => !text.includes(`# TYPE ${name}`));
    expect(undocumented).toEqual([]);
  });

  it('is not ready while it stops, and ends in order', async () => {
    gpu.child.kill('SIGTERM');
    expect((await gpu.ended).code).toBe(0);
    worker.child.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
    await expect(fetch(`${health}/healthz`)).rejects.toThrow();
  });

  it('says which port it cannot have', async () => {
    const { code, err } = await project.run('worker', '--health-port', 'http');
    expect(code).toBe(2);
    expect(err).toContain('Expected a port, 0 to 65535.');
  });
});
