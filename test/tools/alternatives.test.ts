import { describe, expect, test } from 'vitest';
import { resolveConfig } from '../../src/config/resolve-config.js';
import { defineTool } from '../../src/tools/define-tool.js';

const tool = (name: string, alternatives?: string[]) =>
  defineTool({
    name,
    description: 'Searches.',
    input: { type: 'object' },
    execute: () => name,
    ...(alternatives ? { alternatives } : {}),
  });
const resolved = (tools: unknown[], equivalents?: unknown) =>
  resolveConfig({ tools, ...(equivalents === undefined ? {} : { equivalents }) }, { rootDir: '/', env: {} });
const alternativesOf = async (tools: unknown[], equivalents?: unknown) =>
  Object.fromEntries(
    (await resolved(tools, equivalents)).tools.map(({ definition }) => [definition.name, definition.alternatives]),
  );

describe('equivalents', () => {
  test('offer each tool of a group the others, after what it names itself', async () => {
    const tools = [tool('search_web', ['ask_person']), tool('search_cached'), tool('ask_person'), tool('search_files')];
    const groups = [
      ['search_web', 'search_cached'],
      ['search_cached', 'search_files', 'search_web'],
    ];
    expect(await alternativesOf(tools, groups)).toEqual({
      search_web: ['ask_person', 'search_cached', 'search_files'],
      search_cached: ['search_web', 'search_files'],
      ask_person: [],
      search_files: ['search_cached', 'search_web'],
    });
    expect(tools[0]?.definition.alternatives).toEqual(['ask_person']);
  });
  test('leave a tool able to run', async () => {
    const [first] = (await resolved([tool('a'), tool('b')], [['a', 'b']])).tools;
    expect(await first?.execute({}, {} as never)).toBe('a');
    expect(first).toMatchObject({ source: 'function' });
    expect(await first?.parse({ x: 1 })).toEqual({ ok: true, value: { x: 1 } });
  });
  test.each([
    [[['search_web', 'serch_web']], "equivalents[0][1]: there is no tool 'serch_web'; did you mean 'search_web'?"],
    [[['search_web']], 'equivalents[0]: expected two tools or more; one alone has no equivalent'],
    [[['search_web', 'search_web']], 'equivalents[0]: expected two tools or more; one alone has no equivalent'],
    ['search_web', "equivalents: expected a list of groups of tool names, got 'search_web'"],
    [['search_web'], "equivalents[0]: expected a list of texts, got 'search_web'"],
  ])('refuses %j', async (equivalents, message) => {
    await expect(resolved([tool('search_web')], equivalents)).rejects.toThrow(message);
  });
});

describe('alternatives of a tool', () => {
  test('must be tools of this configuration, or built in', async () => {
    await expect(resolved([tool('a', ['b', 'c']), tool('b')])).rejects.toThrow(
      "tools.a.alternatives[1]: there is no tool 'c'",
    );
    await expect(resolved([tool('a', ['a'])])).rejects.toThrow(
      "tools.a.alternatives[0]: 'a' cannot stand in for itself",
    );
    expect(await alternativesOf([tool('a', ['read_artifact'])])).toEqual({ a: ['read_artifact'] });
  });
});
