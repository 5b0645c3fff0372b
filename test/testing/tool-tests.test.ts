import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.js';
import { toolTests, type TestRunner } from '../../src/testing/index.js';

const tool = (effect?: 'read') =>
  defineTool({
    name: 'charge',
    description: 'Charge.',
    input: { type: 'object' },
    execute: () => 1,
    ...(effect ? { effect } : {}),
  });
const inputs = [{ a: 1 }, { a: 2 }];

/** A runner that runs nothing and remembers what it was given. */
function recordingRunner(hook: 'after' | 'afterAll' | 'none') {
  const titles: string[] = [];
  const path: string[] = [];
  let hooks = 0;
  const registered = (): void => void (hooks += 1);
  const runner: TestRunner = {
    describe: (name, body) => {
      path.push(name);
      body();
      path.pop();
    },
    it: (name) => void titles.push([...path, name].join(' > ')),
    ...(hook === 'none' ? {} : { [hook]: registered }),
  };
  return { runner, titles, hooks: () => hooks };
}

describe('toolTests', () => {
  it.each(['after', 'afterAll'] as const)('registers its tests with a runner that has %s', (hook) => {
    const { runner, titles, hooks } = recordingRunner(hook);
    toolTests(runner, { tool: tool('read'), inputs });
    expect(hooks()).toBe(1);
    expect(titles.map((title) => title.split(' > ').slice(0, 2).join(' > '))).toEqual([
      'the tool charge > all calls succeed',
      'the tool charge > some calls fail',
      'the tool charge > all calls fail',
      'the tool charge > all calls fail',
      'the tool charge > all calls fail',
      'the tool charge > all calls fail',
      'the tool charge > run twice, one effect',
      'the tool charge > the tool is down',
    ]);
  });

  it.each<[string, object, string]>([
    ['no effects', { tool: tool(), inputs }, 'toolTests.effects: expected a function that counts the effects'],
    [
      'one input',
      { tool: tool('read'), inputs: [{}] },
      'toolTests.inputs: expected two or more different arguments, got a list with 1 different',
    ],
    ['equal inputs', { tool: tool('read'), inputs: [{}, {}] }, 'got a list with 1 different'],
    ['no tool', { inputs }, 'toolTests.tool: expected what defineTool returned, got undefined'],
    [
      'a misspelt option',
      { tool: tool('read'), input: inputs },
      "toolTests.input: unknown option; did you mean 'inputs'?",
    ],
  ])('refuses %s', (_name, options, message) => {
    expect(() => toolTests(recordingRunner('after').runner, options as never)).toThrow(message);
  });

  it('refuses a runner that cannot stop what was started', () => {
    const { runner } = recordingRunner('none');
    expect(() => toolTests(runner, { tool: tool('read'), inputs })).toThrow('has neither afterAll nor after');
  });
});

describe('docs/testing.md', () => {
  it('shows the example that is run as a test', async () => {
    const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
    const example = await read('test/e2e/testing/documented-example.test.ts');
    expect(await read('docs/testing.md')).toContain(`\`\`\`ts\n${example}\`\`\``);
  });
});
