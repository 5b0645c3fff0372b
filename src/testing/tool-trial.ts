import assert from 'node:assert/strict';
import type { Json, JsonObject } from '../contract/json.js';
import type { FailureClass } from '../contract/failure.js';
import type { FaultOption } from '../faults/fault.js';
import { scriptedModel, type ScriptedCall, type ScriptedTurn } from '../models/scripted-model.js';
import { defineTool } from '../tools/define-tool.js';
import type { Tool } from '../tools/tool.js';
import { openTestBed, type TestRun } from './test-bed.js';
import type { TestServer } from './test-server.js';

/** What the generated tests know of a tool. */
export interface ToolTestOptions {
  /** What `defineTool`, `httpTool` and the other sources made. */
  tool: Tool;
  /** Two or more different correct arguments; each is called in the same step. */
  inputs: JsonObject[];
  /** Arguments that the tool's schema refuses. Default: a text where an object belongs. */
  badInput?: Json;
  /**
   * Counts the effects in the backend so far (payments, rows, mails). Needed for every tool that is not `read`: they are
   * what "run twice, one effect" is about.
   */
  effects?: () => number | Promise<number>;
  /** Empties the backend before each test. Needed where `reconcile` finds effects by their arguments. */
  reset?: () => void | Promise<void>;
  /** What the agent takes while the tool is down. Default: a stand-in that always succeeds. */
  alternative?: { tool: Tool; input: JsonObject };
  /** Default: an embedded server for these tests, stopped after them. */
  server?: TestServer;
  /** Of each test. Default 60 s: retries really wait. */
  timeoutMs?: number;
}

/** One generated test of a tool: a run of a scripted agent on a worker of its own, and what must hold after it. */
export class ToolTrial {
  readonly #options: ToolTestOptions;
  readonly #server: TestServer;
  readonly #name: string;

  constructor(options: ToolTestOptions, server: TestServer) {
    this.#options = options;
    this.#server = server;
    this.#name = options.tool.definition.name;
  }

  async allSucceed(): Promise<void> {
    const { run, effects } = await this.#callAll({ faults: [] });
    for (const call of run.calls) {
      assert.equal(call.state, 'succeeded', `${call.callId} ended as ${call.modelSees ?? 'nothing'}`);
      assert.equal(call.sees['status'], 'succeeded');
      assert.equal(call.starts, 1, `${call.callId} was started ${call.starts} times`);
    }
    this.#expectEffects(effects, run.calls.length);
  }

  async someFail(): Promise<void> {
    const { run, effects } = await this.#callAll({ faults: [this.#fault('business_rule_violation@1')] });
    const failed = run.calls.filter(({ state }) => state === 'failed');
    assert.equal(failed.length, 1, `one call was to fail, but ${failed.length} did`);
    assert.equal(failed[0]?.sees['error_type'], 'business_rule_violation');
    const rest = run.calls.filter((call) => call !== failed[0]);
    for (const call of rest) assert.equal(call.state, 'succeeded', `${call.callId}: ${call.modelSees ?? 'nothing'}`);
    this.#expectEffects(effects, rest.length);
  }

  async allTimeOut(): Promise<void> {
    const { run, effects } = await this.#callAll({ faults: [this.#fault('timeout')] });
    // A `once` tool that lost its answer must not be run again, and what the model asked for after it is skipped.
    const classes: FailureClass[] =
      this.#effectKind === 'once' ? ['timeout', 'outcome_unknown', 'skipped'] : ['timeout'];
    this.#expectFailures(run, classes);
    this.#expectEffects(effects, 0);
  }

  async allAreMalformed(): Promise<void> {
    const { badInput = 'not an object' } = this.#options;
    const { run, effects } = await this.#run({ calls: [{ tool: this.#name, input: badInput }], faults: [] });
    this.#expectFailures(run, ['validation_error']);
    assert.equal(run.calls[0]?.starts, 0, 'the body was started with bad arguments');
    this.#expectEffects(effects, 0);
  }

  async allAreForbidden(): Promise<void> {
    const { run, effects } = await this.#callAll({ faults: [this.#fault('permission_denied')] });
    this.#expectFailures(run, ['permission_denied']);
    for (const call of run.calls) assert.equal(call.sees['status'], 'aborted');
    this.#expectEffects(effects, 0);
  }

  async allFindNothing(): Promise<void> {
    const { run, effects } = await this.#callAll({ faults: [this.#fault('not_found')] });
    this.#expectFailures(run, ['not_found']);
    this.#expectEffects(effects, 0);
  }

  async loseAnswer(): Promise<void> {
    const [input] = this.#options.inputs;
    const calls = [{ tool: this.#name, input: input ?? {} }];
    const { run, effects } = await this.#run({ calls, faults: [this.#fault('commit-then-no-answer@1')] });
    const [call] = run.calls;
    const { tool } = this.#options;
    this.#expectEffects(effects, 1);
    if (this.#effectKind === 'once') {
      const settled = call?.state === 'succeeded' || call?.sees['error_type'] === 'outcome_unknown';
      assert.ok(settled, `a lost answer must be found out or told as unknown, not as ${call?.modelSees ?? 'nothing'}`);
      assert.equal(call?.starts, 1, 'a `once` tool was started again after a lost answer');
    } else if (tool.definition.policy.retry.network_error === undefined) {
      assert.equal(call?.state, 'succeeded', `the second start gave ${call?.modelSees ?? 'nothing'}`);
      assert.equal(call?.starts, 2);
    }
  }

  async takeAlternative(): Promise<void> {
    const standIn = this.#options.alternative ?? standInFor(this.#name);
    const { name } = standIn.tool.definition;
    // A `once` tool must be known not to have run: else the alternative could be the second effect.
    const down = this.#effectKind === 'once' ? 'tool_temporarily_disabled' : '503';
    const { run } = await this.#run({
      tools: [withAlternative(this.#options.tool, name), standIn.tool],
      calls: [{ tool: this.#name, input: this.#options.inputs[0] ?? {} }],
      faults: [this.#fault(down)],
      next: [
        (conversation) => {
          const [seen] = conversation.lastResults();
          const named = (seen as JsonObject | undefined)?.['alternatives'];
          const taken = Array.isArray(named) ? named.find((other) => other === name) : undefined;
          if (typeof taken !== 'string') return { text: 'No alternative was named.' };
          return { calls: [{ tool: taken, input: standIn.input }] };
        },
      ],
    });
    const [first, second] = run.calls;
    assert.equal(first?.state, 'failed', `the tool was to be down, but gave ${first?.modelSees ?? 'nothing'}`);
    assert.equal(second?.tool, name, `the failure did not name the alternative: ${first.modelSees ?? 'nothing'}`);
    assert.equal(second?.state, 'succeeded', `the alternative gave ${second?.modelSees ?? 'nothing'}`);
  }

  get #effectKind(): 'read' | 'idempotent' | 'once' {
    return this.#options.tool.definition.policy.effect.kind;
  }

  #fault(fault: string): string {
    return `${this.#name}:${fault}`;
  }

  #callAll({ faults }: { faults: FaultOption[] }): Promise<{ run: TestRun; effects: number }> {
    const calls = this.#options.inputs.map((input) => ({ tool: this.#name, input }));
    return this.#run({ calls, faults });
  }

  /** One step with `calls`, then `next`, then an answer. Whatever the calls end with, the run must be completed. */
  async #run(script: {
    calls: ScriptedCall[];
    faults: FaultOption[];
    tools?: Tool[];
    next?: ScriptedTurn[];
  }): Promise<{ run: TestRun; effects: number }> {
    const { calls, faults, tools = [this.#options.tool], next = [] } = script;
    const model = scriptedModel({ turns: [{ calls }, ...next, { text: 'Done.' }, { text: 'Done.' }] });
    await this.#options.reset?.();
    const before = await this.#countEffects();
    await using bed = await openTestBed({ tools, model, faults }, { server: this.#server });
    const run = await bed.run();
    assert.equal(run.result.status, 'completed', `the run ended because ${run.result.termination.summary}`);
    const asked = run.calls.filter(({ callId }) => callId.startsWith('c1.'));
    assert.equal(asked.length, calls.length, `${calls.length} calls were asked for, ${asked.length} have an outcome`);
    return { run, effects: (await this.#countEffects()) - before };
  }

  async #countEffects(): Promise<number> {
    return (await this.#options.effects?.()) ?? 0;
  }

  #expectEffects(effects: number, expected: number): void {
    if (this.#options.effects === undefined || this.#effectKind === 'read') return;
    assert.equal(effects, expected, `the backend has ${effects} new effects instead of ${expected}`);
  }

  #expectFailures(run: TestRun, classes: FailureClass[]): void {
    for (const call of run.calls) {
      const told = call.sees['error_type'];
      const isExpected = classes.some((name) => name === told);
      assert.ok(
        isExpected,
        `${call.callId} was to fail as ${classes.join(' or ')}, got ${call.modelSees ?? 'nothing'}`,
      );
      assert.ok(call.sees['message'], `${call.callId}: the model was not told why`);
      assert.ok(call.sees['suggested_action'], `${call.callId}: the model was not told what to do`);
    }
    assert.notEqual(run.calls[0]?.sees['error_type'], 'skipped', 'the first call was skipped');
  }
}

function withAlternative(tool: Tool, name: string): Tool {
  const { definition } = tool;
  const alternatives = [name, ...definition.alternatives.filter((other) => other !== name)];
  return Object.assign(Object.create(tool) as Tool, { definition: { ...definition, alternatives } });
}

function standInFor(name: string): { tool: Tool; input: JsonObject } {
  const tool = defineTool({
    name: `stand_in_for_${name}`.slice(0, 64),
    description: `Does what ${name} does, in another way.`,
    input: { type: 'object', properties: {}, additionalProperties: false },
    effect: 'read',
    execute: () => ({ ok: true }),
  });
  return { tool, input: {} };
}
