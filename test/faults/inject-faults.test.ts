import { describe, expect, it, vi } from 'vitest';
import { injectFaults } from '../../src/faults/inject-faults.js';
import { parseFaults } from '../../src/faults/parse-fault.js';
import { classifyThrown } from '../../src/policy/classify-thrown.js';
import { failureClasses, failureClassNames } from '../../src/policy/failure-classes.js';
import { normalizeResult } from '../../src/results/normalize-result.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { readArtifactTool } from '../../src/tools/read-artifact.js';
import type { ToolContext } from '../../src/tools/tool.js';

const context = (signal = AbortSignal.timeout(60_000)): ToolContext => {
  const nothing = (): void => undefined;
  return {
    idempotencyKey: 'k1:x',
    attempt: 1,
    callId: 'c1.0',
    runId: 'run',
    signal,
    deadline: Date.now() + 60_000,
    progress: nothing,
    seenByBackend: nothing,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    bestEffort: async (_name, run) => await run(),
  };
};

/** A tool that counts its effects, with one fault in front of it. */
function faulty(fault: string, body: () => unknown = () => 'done') {
  const effects = vi.fn(body);
  const warn = vi.fn();
  const crash = vi.fn();
  const nothing = (): void => undefined;
  const tool = defineTool({
    name: 'charge',
    description: 'Charge.',
    input: { type: 'object' },
    maxOutputBytes: 1_000,
    execute: () => effects(),
  });
  const [wrapped] = injectFaults(
    [tool],
    { faults: parseFaults('F', `charge:${fault}`), seed: 1 },
    { log: { debug: nothing, info: nothing, error: nothing, warn }, crash },
  );
  if (!wrapped) throw new Error('the tool is gone');
  const run = async (ctx = context()) => await wrapped.execute({}, ctx);
  const classified = async () =>
    classifyThrown(
      await run().then(
        (value) => Promise.reject(new Error(`returned ${String(value)}`)),
        (e: unknown) => e,
      ),
      {
        nowMs: 0,
        source: 'function',
      },
    );
  return { wrapped, run, classified, effects, warn, crash };
}

describe('an injected fault', () => {
  it.each(failureClassNames)('of class %s fails with that class and leaves what the class says', async (name) => {
    const { classified, effects } = faulty(name);
    const { effectState } = failureClasses[name];
    expect(await classified()).toMatchObject({ class: name, effectState });
    expect(effects).toHaveBeenCalledTimes(effectState === 'done' ? 1 : 0);
  });

  it.each([
    ['503', 'external_service_unavailable'],
    ['404', 'not_found'],
    ['403', 'permission_denied'],
    ['429', 'rate_limit'],
    ['500', 'server_error'],
  ])('of HTTP status %s is read like a backend’s own answer', async (status, failureClass) => {
    const { classified, effects } = faulty(status);
    expect(await classified()).toMatchObject({ class: failureClass, upstreamStatus: Number(status) });
    expect(effects).not.toHaveBeenCalled();
  });

  it('commits and loses the answer, also a failed one', async () => {
    const committed = faulty('commit-then-no-answer');
    expect(await committed.classified()).toMatchObject({ class: 'network_error', effectState: 'unknown' });
    expect(committed.effects).toHaveBeenCalledTimes(1);
    const refused = faulty('commit-then-no-answer', () => {
      throw new Error('no');
    });
    expect(await refused.classified()).toMatchObject({ class: 'network_error', effectState: 'unknown' });
  });

  it.each([
    ['crash-before-effect', 0],
    ['crash-after-effect', 1],
  ])('%s kills the process with %i effects, and nothing is heard of the call again', async (fault, count) => {
    const { run, effects, crash } = faulty(fault);
    const end = vi.fn();
    void run().then(end, end);
    await vi.waitFor(() => expect(crash).toHaveBeenCalledTimes(1));
    await new Promise(setImmediate);
    expect(effects).toHaveBeenCalledTimes(count);
    expect(end).not.toHaveBeenCalled();
  });

  it('makes a start late, but not past its signal', async () => {
    const { run, effects } = faulty('slow(40)');
    const startedAt = performance.now();
    expect(await run()).toBe('done');
    expect(performance.now() - startedAt).toBeGreaterThan(35);
    const late = faulty('slow(1h)');
    await expect(late.run(context(AbortSignal.timeout(10)))).rejects.toMatchObject({ name: 'AbortError' });
    expect([effects.mock.calls.length, late.effects.mock.calls.length]).toEqual([1, 0]);
  });

  it('returns more than the tool may return', async () => {
    const { run, effects } = faulty('oversized');
    expect((await normalizeResult(await run(), { maxBytes: 1_000 })).tooLarge).toMatch(/./);
    expect(effects).toHaveBeenCalledTimes(1);
  });

  it('returns garbage that still becomes JSON', async () => {
    const { run, effects } = faulty('garbage');
    const { json } = await normalizeResult(await run());
    expect(JSON.parse(JSON.stringify(json))).toContain('garbage');
    expect(effects).toHaveBeenCalledTimes(1);
  });
});

describe('injectFaults', () => {
  it('returns the tools untouched where there is no plan, and says nothing', () => {
    const tool = defineTool({ name: 'a', description: 'A.', input: { type: 'object' }, execute: () => 1 });
    const warn = vi.fn();
    const nothing = (): void => undefined;
    const [same] = injectFaults([tool], undefined, { log: { debug: nothing, info: nothing, error: nothing, warn } });
    expect(same).toBe(tool);
    expect(warn).not.toHaveBeenCalled();
  });

  it('warns once at the start, with the seed, and once at each injected fault', async () => {
    const { run, warn } = faulty('404@2');
    expect(warn.mock.calls.map(([message]) => message as string)).toEqual([
      'FAULT INJECTION IS ON: this worker makes tools fail on purpose (charge:404@2). Same faults again: ' +
        'PERDURE_FAULTS_SEED=1. Off: unset PERDURE_FAULTS and leave `faults` out of the configuration.',
    ]);
    expect(await run()).toBe('done');
    expect(warn).toHaveBeenCalledTimes(1);
    await expect(run()).rejects.toMatchObject({ status: 404 });
    expect(warn.mock.calls[1]).toEqual([
      'fault injected',
      { tool: 'charge', fault: 'charge:404@2', call_id: 'c1.0', idempotency_key: 'k1:x', attempt: 1 },
    ]);
    expect(await run()).toBe('done');
  });

  it('leaves built-in tools alone and keeps everything else of a tool', () => {
    const builtIn = readArtifactTool(() => Promise.resolve(undefined));
    const nothing = (): void => undefined;
    const log = { debug: nothing, info: nothing, error: nothing, warn: nothing };
    const [same] = injectFaults([builtIn], { faults: parseFaults('F', '*:404'), seed: 1 }, { log });
    expect(same).toBe(builtIn);
    const { wrapped } = faulty('404');
    expect(wrapped.definition.name).toBe('charge');
    expect(wrapped.source).toBe('function');
  });
});
