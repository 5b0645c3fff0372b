import { at, checkObject, refuseUnknownKeys, shown } from '../config/check-options.js';
import { ConfigError } from '../config/config-error.js';
import type { Tool } from '../tools/tool.js';
import { afterTests, type TestRunner } from './test-runner.js';
import { startTestServer, type TestServer } from './test-server.js';
import { ToolTrial, type ToolTestOptions } from './tool-trial.js';

/**
 * Generates the tests that a tool of an agent needs, each a run of a scripted agent on a real worker and server, with the
 * failures injected in front of the tool's own body:
 *
 * - all calls succeed;
 * - one call fails and the others succeed;
 * - all calls fail: by timeout, bad arguments, no permission, not found;
 * - run twice, one effect: the first answer is lost after the work was done;
 * - the tool is down, and the agent takes the alternative that the failure names.
 *
 * Throws `ConfigError` where the options cannot be meant. The tool is called for real: point it to a backend for tests.
 */
export function toolTests(runner: TestRunner, options: ToolTestOptions): void {
  checkOptions(options);
  const { timeoutMs = 60_000 } = options;
  const { name } = options.tool.definition;
  runner.describe(`the tool ${name}`, () => {
    let own: Promise<TestServer & AsyncDisposable> | undefined;
    const serverOf = async (): Promise<TestServer> => options.server ?? (await (own ??= startTestServer()));
    afterTests(runner, async () => await (await own)?.[Symbol.asyncDispose](), timeoutMs);
    const test = (title: string, body: (trial: ToolTrial) => Promise<void>): void => {
      runner.it(title, async () => await body(new ToolTrial(options, await serverOf())), timeoutMs);
    };

    runner.describe('all calls succeed', () => {
      test('gives each call one succeeded outcome, shown to the model once', (trial) => trial.allSucceed());
    });
    runner.describe('some calls fail', () => {
      test('tells the failed call as one, and the others succeed', (trial) => trial.someFail());
    });
    runner.describe('all calls fail', () => {
      test('by timeout: the run goes on and nothing is claimed that did not happen', (trial) => trial.allTimeOut());
      test('by bad arguments: nothing runs, and the model is told what is wrong', (trial) => trial.allAreMalformed());
      test('for want of permission: no changed arguments are asked for', (trial) => trial.allAreForbidden());
      test('because nothing is found', (trial) => trial.allFindNothing());
    });
    runner.describe('run twice, one effect', () => {
      test('when the first answer is lost after the work was done', (trial) => trial.loseAnswer());
    });
    runner.describe('the tool is down', () => {
      test('and the agent takes the alternative', (trial) => trial.takeAlternative());
    });
  });
}

const optionNames = ['tool', 'inputs', 'badInput', 'effects', 'reset', 'alternative', 'server', 'timeoutMs'];

function checkOptions(options: ToolTestOptions): void {
  const path = 'toolTests';
  refuseUnknownKeys(path, checkObject(path, options), optionNames);
  const { tool, inputs, effects } = options;
  const definition = (tool as Partial<Tool> | undefined)?.definition;
  if (!definition) throw new ConfigError(at(path, 'tool'), `expected what defineTool returned, got ${shown(tool)}`);
  const different = new Set(Array.isArray(inputs) ? inputs.map((input) => JSON.stringify(input)) : []);
  if (different.size < 2 || different.size < inputs.length) {
    throw new ConfigError(
      at(path, 'inputs'),
      `expected two or more different arguments, got ${shown(inputs)}${different.size > 0 ? ` with ${String(different.size)} different` : ''}`,
    );
  }
  if (effects === undefined && definition.policy.effect.kind !== 'read') {
    throw new ConfigError(
      at(path, 'effects'),
      `expected a function that counts the effects in the backend, because '${definition.name}' is not a read`,
    );
  }
}
