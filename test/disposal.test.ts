import { expect, test } from 'vitest';
import { Disposals } from '../src/disposal.js';

test('closes the last first, whatever fails, and rejects with the first failure', async () => {
  const closed: string[] = [];
  const opened = new Disposals();
  for (const name of ['first', 'second', 'third']) {
    opened.defer(async () => {
      closed.push(name);
      if (name !== 'first') throw new Error(`${name} would not close`);
    });
  }
  await expect(opened[Symbol.asyncDispose]()).rejects.toThrow('third would not close');
  expect(closed).toEqual(['third', 'second', 'first']);
  await opened[Symbol.asyncDispose]();
  expect(closed).toHaveLength(3);
});

test('closes nothing that it has given to somebody else', async () => {
  const closed: string[] = [];
  const opened = new Disposals();
  const resource = opened.use({ [Symbol.asyncDispose]: async () => void closed.push('resource') });
  expect(resource).toBeDefined();
  const moved = opened.move();
  await opened[Symbol.asyncDispose]();
  expect(closed).toEqual([]);
  await moved[Symbol.asyncDispose]();
  expect(closed).toEqual(['resource']);
});
