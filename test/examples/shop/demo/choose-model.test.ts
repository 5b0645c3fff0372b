import { expect, it } from 'vitest';
import { chooseModel } from '../../../../examples/shop/demo/choose-model.js';

const isInstalled = (packageName: string) => packageName === '@ai-sdk/openai-compatible';

it('plays the script where there is no key, or where it was asked for', () => {
  expect(chooseModel({ named: undefined, env: {}, isInstalled })).toEqual({
    because: 'no key of a model provider is set',
  });
  expect(chooseModel({ named: 'scripted', env: { OPENAI_API_KEY: 'x' }, isInstalled })).toEqual({
    because: 'it was asked for',
  });
});

it('takes a key in the environment as a wish, if the package is there', () => {
  expect(chooseModel({ named: undefined, env: { OPENAI_API_KEY: 'x' }, isInstalled })).toEqual({
    name: 'openai-compatible:gpt-4.1-mini',
    because: 'OPENAI_API_KEY is set',
  });
  expect(chooseModel({ named: undefined, env: { OPENAI_API_KEY: 'x', OPENAI_MODEL: 'o5' }, isInstalled })).toEqual({
    name: 'openai-compatible:o5',
    because: 'OPENAI_API_KEY is set',
  });
  expect(chooseModel({ named: undefined, env: { ANTHROPIC_API_KEY: 'x' }, isInstalled })).toEqual({
    because: 'ANTHROPIC_API_KEY is set, but @ai-sdk/anthropic is not installed',
  });
});

it('lets a named model win', () => {
  expect(chooseModel({ named: 'mistral:large', env: { OPENAI_API_KEY: 'x' }, isInstalled })).toEqual({
    name: 'mistral:large',
    because: 'it was asked for',
  });
});
