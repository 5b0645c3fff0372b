import { describe, expect, it } from 'vitest';
import { PerdureError } from '../../src/client/perdure-error.js';
import { resolveRun } from '../../src/client/resolve-run.js';

const runs = ['run-abc123', 'run-abd456', 'run-x', 'run-xyz', 'refund-1042'].map((id) => ({ id }));

function refusal(idOrPrefix: string, among = runs): PerdureError {
  try {
    resolveRun(idOrPrefix, among);
  } catch (error) {
    if (error instanceof PerdureError) return error;
    throw error;
  }
  throw new Error(`${idOrPrefix} was found`);
}

describe('resolveRun', () => {
  it('finds a run by its whole id', () => {
    expect(resolveRun('run-abc123', runs)).toEqual({ id: 'run-abc123' });
  });

  it('finds a run by a prefix that only it has', () => {
    expect(resolveRun('ref', runs)).toEqual({ id: 'refund-1042' });
  });

  it('prefers the whole id where it is also the beginning of another', () => {
    expect(resolveRun('run-x', runs)).toEqual({ id: 'run-x' });
  });

  it('names the candidates of an ambiguous prefix', () => {
    const error = refusal('run-ab');
    expect(error.code).toBe('ambiguous_run');
    expect(error.message).toBe('2 runs begin with "run-ab": run-abc123, run-abd456.');
    expect(error.next).toBe('Give more of the id.');
  });

  it('names the five newest of many candidates and counts the rest', () => {
    const many = Array.from({ length: 8 }, (_, index) => ({ id: `run-${index}` }));
    expect(refusal('run-', many).message).toBe(
      '8 runs begin with "run-": run-0, run-1, run-2, run-3, run-4 and 3 more.',
    );
  });

  it('names the nearest id of one that is mistyped', () => {
    const error = refusal('refund-1024');
    expect(error.code).toBe('run_not_found');
    expect(error.message).toBe('There is no run "refund-1024". Did you mean refund-1042?');
    expect(error.next).toBe('See which there are: perdure list');
  });

  it('proposes nothing where nothing is near', () => {
    expect(refusal('zzz').message).toBe('There is no run "zzz".');
  });

  it('asks for an id where it is empty', () => {
    expect(refusal('').code).toBe('usage');
  });
});
