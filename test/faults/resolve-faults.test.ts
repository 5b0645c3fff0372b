import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../src/config/resolve-config.js';
import { defineTool } from '../../src/tools/define-tool.js';

const charge = defineTool({ name: 'charge', description: 'Charge.', input: { type: 'object' }, execute: () => 1 });
const resolve = (config: object, env: Record<string, string> = {}) =>
  resolveConfig({ tools: [charge], ...config }, { rootDir: '/app', env });

describe('the faults of a configuration', () => {
  it('are none unless they are asked for', async () => {
    expect((await resolve({})).faults).toBeUndefined();
    expect((await resolve({ faults: [] }, { PERDURE_FAULTS: ' ', PERDURE_FAULTS_SEED: '' })).faults).toBeUndefined();
  });

  it('are those of the environment, then those in code, with the seed given', async () => {
    const plan = (
      await resolve({ faults: ['*:404'] }, { PERDURE_FAULTS: 'charge:timeout@3', PERDURE_FAULTS_SEED: '7' })
    ).faults;
    expect(plan?.faults.map(({ text }) => text)).toEqual(['charge:timeout@3', '*:404']);
    expect(plan?.seed).toBe(7);
  });

  it('have a drawn seed where none is given', async () => {
    const seed = (await resolve({ faults: ['*:404@10%'] })).faults?.seed ?? -1;
    expect(Number.isInteger(seed) && seed >= 0 && seed <= 0xffffffff).toBe(true);
  });

  it.each<[string, object, Record<string, string>, string]>([
    [
      'a tool that is not there',
      {},
      { PERDURE_FAULTS: 'chrage:timeout' },
      "PERDURE_FAULTS[0]: no tool has the name 'chrage'; did you mean 'charge'?; the tools are charge",
    ],
    ['a list that is none', { faults: 'charge:timeout' }, {}, "faults: expected a list such as ['charge:timeout@3']"],
    [
      'a seed that is none',
      { faults: ['*:404'] },
      { PERDURE_FAULTS_SEED: '-1' },
      "PERDURE_FAULTS_SEED: expected a whole number from 0 to 4294967295, got '-1'",
    ],
    [
      'production by configuration',
      { faults: ['*:404'], production: true },
      {},
      'faults[0]: faults are never injected in production (the configuration says production: true); unset PERDURE_FAULTS',
    ],
    [
      'production by environment',
      {},
      { PERDURE_FAULTS: '*:404', PERDURE_ENV: 'production' },
      'PERDURE_FAULTS[0]: faults are never injected in production (PERDURE_ENV is production)',
    ],
    [
      'a production mark that is no boolean',
      { production: 'yes' },
      {},
      "production: expected true or false, got 'yes'",
    ],
  ])('are refused: %s', async (_name, config, env, message) => {
    await expect(resolve(config, env)).rejects.toThrow(message);
    await expect(resolve(config, env)).rejects.toMatchObject({ name: 'ConfigError' });
  });

  it('leave production alone where there are none', async () => {
    expect((await resolve({ production: true }, { PERDURE_ENV: 'production' })).faults).toBeUndefined();
  });
});
