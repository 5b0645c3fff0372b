import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error.js';
import { assignModelNames, checkToolName, nearestNames, type NamedTool } from '../../src/tools/tool-names.js';

const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;

function namesOf(tools: NamedTool[]): string[] {
  return [...assignModelNames(tools).keys()];
}

describe('the names that models are shown', () => {
  it('are the tools’ own where these are legal and no two alike', () => {
    expect(namesOf([{ name: 'read_file' }, { name: 'search-web', server: 'web' }])).toEqual([
      'read_file',
      'search-web',
    ]);
  });

  it('replace what providers refuse, and lead back to the tool', () => {
    const tools = ['catalog.get-entity', 'user/update', 'New Tool', '日本', 'émile'].map((name) => ({
      name,
      server: 's',
    }));
    const names = assignModelNames(tools);
    expect([...names.keys()]).toEqual([
      'catalog_get-entity',
      'user_update',
      'New_Tool',
      expect.stringMatching(/^tool_[0-9a-f]{8}$/),
      '_mile',
    ]);
    expect([...names.values()]).toEqual(tools);
  });

  it('carry the server where two servers have the same name', () => {
    expect(
      namesOf([
        { name: 'query', server: 'pg_prod' },
        { name: 'query', server: 'pg_test' },
      ]),
    ).toEqual(['pg_prod_query', 'pg_test_query']);
  });

  it('leave a name to the local tool, and to the tool that is really called so', () => {
    const tools = [
      { name: 'query', server: 'pg' },
      { name: 'query' },
      { name: 'a.b' },
      { name: 'a_b' },
      { name: 'pg_query' },
    ];
    expect(namesOf(tools)).toEqual([
      expect.stringMatching(/^query_[0-9a-f]{8}$/),
      'query',
      expect.stringMatching(/^a_b_[0-9a-f]{8}$/),
      'a_b',
      'pg_query',
    ]);
  });

  it('stay different where long ones are cut, by a hash that is the same after a restart', () => {
    const long = (verb: string): string =>
      `mcp_atlassian-rovo-mcp-server-cloud_${verb}ConfluencePageWithAttachmentsAndPermissions`;
    expect(namesOf([{ name: long('create') }, { name: long('delete') }])).toEqual([
      'mcp_atlassian-rovo-mcp-server-cloud_createConfluencePag_0c8a32d8',
      'mcp_atlassian-rovo-mcp-server-cloud_deleteConfluencePag_bbf25487',
    ]);
  });

  const anyTool = fc.record(
    {
      name: fc.oneof(
        fc.constantFrom(
          'a',
          'a.b',
          'a_b',
          'A_b',
          'query',
          's_a',
          's.a',
          '日',
          '本',
          '__proto__',
          'toString',
          'x'.repeat(64),
          'x'.repeat(65),
          'x'.repeat(66),
        ),
        fc.string({ minLength: 1, unit: 'binary' }).filter((name) => name.trim() !== ''),
      ),
      server: fc.constantFrom('s', 's.', 'a', '日'),
    },
    { requiredKeys: ['name'] },
  );
  const catalogue = fc.uniqueArray(anyTool, {
    selector: (tool) => JSON.stringify([tool.server, tool.name]),
    maxLength: 20,
  });

  it('are legal, one for each tool, and exact in the way back', () => {
    fc.assert(
      fc.property(catalogue, (tools) => {
        const names = assignModelNames(tools);
        expect([...names.keys()].every((name) => LEGAL.test(name))).toBe(true);
        expect([...names.values()]).toEqual(tools);
      }),
    );
  });

  it('do not depend on the order of the tools', () => {
    fc.assert(
      fc.property(
        catalogue.chain((tools) =>
          fc.tuple(fc.constant(tools), fc.shuffledSubarray(tools, { minLength: tools.length })),
        ),
        ([tools, shuffled]) => {
          const there = assignModelNames(tools);
          const back = new Map([...assignModelNames(shuffled)].map(([name, tool]) => [tool, name]));
          for (const [name, tool] of there) expect(back.get(tool)).toBe(name);
        },
      ),
    );
  });

  it('refuse an empty name and name its server; the others go on without it', () => {
    expect(() => checkToolName({ name: ' ', server: 'shop' })).toThrow(
      new ConfigError('servers.shop', 'the server "shop" has a tool with an empty name'),
    );
    expect(() => assignModelNames([{ name: '' }])).toThrow('tools: the configuration has a tool with an empty name');
    expect(() => assignModelNames([{ name: 'a' }, { name: 'a' }])).toThrow('two tools named "a"');
  });
});

describe('nearest names', () => {
  it.each([
    ['read_flie', ['read_file']],
    ['ReadFile', ['read_file']],
    ['read-files', ['read_file']],
    ['functions.read_file', ['read_file']],
    ['files', ['list_files']],
    ['__proto__', []],
    ['toString', []],
    ['', []],
    ['launch_rocket', []],
  ])('of %j are %j', (name, nearest) => {
    expect(nearestNames(name, ['list_files', 'read_file'])).toEqual(nearest);
  });

  it('are at most three', () => {
    expect(nearestNames('tool', ['tool1', 'tool2', 'tool3', 'tool4'])).toEqual(['tool1', 'tool2', 'tool3']);
  });
});
