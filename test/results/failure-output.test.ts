import { describe, expect, it } from 'vitest';
import { kindOfOutput, shapeFailureOutput } from '../../src/results/failure-output.js';

describe('shapeFailureOutput', () => {
  it('keeps the output whole, without colours', () => {
    const output = `\u001b[31m FAIL \u001b[0m src/a.test.ts\n${'  at line\n'.repeat(3000)}Tests: 1 failed, 3 passed`;
    expect(shapeFailureOutput(output)).toEqual({
      text: ` FAIL  src/a.test.ts\n${'  at line\n'.repeat(3000)}Tests: 1 failed, 3 passed`,
      kind: 'test',
    });
  });

  it('cuts above the limit and names the whole', () => {
    const { text, truncated } = shapeFailureOutput('x\n'.repeat(100_000), { maxTokens: 1000, artifactId: 'id1' });
    expect(text).toContain('characters omitted');
    expect(truncated).toMatchObject({ total: 200_000, artifact_id: 'id1' });
  });
});

describe('kindOfOutput', () => {
  it.each(['\n', ' ', 'a', 'a:', '1 ', 'error ', '\u001b[', ';a', 'Tests: '])(
    'reads a megabyte of %j in no time',
    (part) => {
      const startedAt = performance.now();
      shapeFailureOutput(part.repeat(1_000_000 / part.length));
      expect(performance.now() - startedAt).toBeLessThan(1000);
    },
  );

  it.each([
    ["src/a.ts(3,7): error TS2322: Type 'string' is not assignable", 'compile'],
    ['error[E0308]: mismatched types', 'compile'],
    ['main.c:4:10: error: expected ;', 'compile'],
    ['./main.go:7:2: undefined: foo', 'compile'],
    ['  File "x.py", line 3\nSyntaxError: invalid syntax', 'compile'],
    ['[ERROR] COMPILATION ERROR :', 'compile'],
    ["src/a.ts(1,20): error TS2307: Cannot find module 'left-pad' or its type declarations", 'dependency'],
    ["Error: Cannot find package 'zod' imported from /app/a.js", 'dependency'],
    ["ModuleNotFoundError: No module named 'requests'", 'dependency'],
    ['npm error code ERESOLVE', 'dependency'],
    ['main.go:4:2: no required module provides package github.com/x/y', 'dependency'],
    ['ERROR: No matching distribution found for nope==9', 'dependency'],
    ["src/a.ts(1,20): error TS2307: Cannot find module './nope.js'", 'compile'],
    ['Tests:       1 failed, 4 passed, 5 total', 'test'],
    [' Tests  2 failed | 8 passed (10)', 'test'],
    ['=== 1 failed, 2 passed in 0.03s ===', 'test'],
    ['--- FAIL: TestAdd (0.00s)', 'test'],
    ['not ok 3 - adds', 'test'],
    ['Tests run: 4, Failures: 1, Errors: 0', 'test'],
    ['AssertionError: expected 1 to be 2', 'test'],
    ['Tests: 0 failed, 4 passed', undefined],
    ['all good', undefined],
    ['', undefined],
  ])('reads %j as %s', (output, kind) => {
    expect(kindOfOutput(output)).toBe(kind);
  });
});
