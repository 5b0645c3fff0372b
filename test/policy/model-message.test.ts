import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClassifiedFailure } from '../../src/contract/failure.js';
import { failureClassNames, failureClasses } from '../../src/policy/failure-classes.js';
import { exampleMessage } from '../../src/policy/failure-docs.js';
import { exampleFailure } from '../../src/policy/failure-examples.js';
import { describeFailure, type MessageContext, uncutReason } from '../../src/policy/model-message.js';
import { manifestTool, toolPolicy } from './fixtures.js';

const context: MessageContext = { tool: manifestTool(), toolName: 'refund_payment', attempts: 1 };
const readTool = manifestTool({ name: 'get_order', policy: toolPolicy({ effect: { kind: 'read' } }) });
function describeAs(failure: Partial<ClassifiedFailure>, more: Partial<MessageContext> = {}) {
  return describeFailure({ class: 'tool_error', effectState: 'unknown', ...failure }, { ...context, ...more });
}

describe('one message per class', () => {
  test.each(failureClassNames)('%s', (failureClass) => {
    expect(JSON.parse(exampleMessage(failureClass))).toMatchSnapshot();
  });

  test.each(failureClassNames)('%s reads as sentences, without traces of code', (failureClass) => {
    const { message, suggested_action: action } = JSON.parse(exampleMessage(failureClass));
    for (const text of [message, action]) {
      expect(text).toMatch(/^["A-Za-z]/);
      expect(text).toMatch(/[.?]$|for example .+$/);
      expect(text).not.toMatch(
        /[{}[\]]|\b[A-Z]\w+(?:Error|Exception)\b|\bat .+:\d+|<\/?\w|undefined|null| {2}|\.\.|\s[.,:;]/,
      );
      expect(text.length).toBeLessThan(500);
    }
  });

  test('every class is told apart by its message', () => {
    const messages = failureClassNames.map((failureClass) => JSON.parse(exampleMessage(failureClass)).message);
    expect(new Set(messages).size).toBe(failureClassNames.length);
  });
});

describe('exhaustion', () => {
  test.each(failureClassNames.filter((name) => failureClasses[name].losesAnswer || name === 'rate_limit'))(
    '%s says after how many attempts',
    (failureClass) => {
      expect(describeAs({ class: failureClass }, { attempts: 3 }).message).toContain('after 3 attempts');
      expect(describeAs({ class: failureClass }, { attempts: 1 }).message).not.toContain('attempt');
    },
  );
});

describe('what may have happened', () => {
  test('is said of tools that change something', () => {
    const failure = describeAs({ class: 'timeout' }, { checkTool: 'get_payment' });
    expect(failure.message).toBe(
      'refund_payment did not finish in time. The call may still have taken effect, in whole or in part.',
    );
    expect(failure.suggestedAction).toMatch(/^First check with get_payment what has been done\./);
  });
  test('is not said of a tool that only reads, of a call that never began, or of one that proved it', () => {
    expect(describeAs({ class: 'timeout' }, { tool: readTool, toolName: 'get_order' }).message).toBe(
      'get_order did not finish in time.',
    );
    expect(describeAs({ class: 'timeout' }, { attempts: 0 }).message).not.toContain('taken effect');
    expect(describeAs({ class: 'network_error', effectState: 'none' }).message).toBe(
      'refund_payment could not connect to its service. Nothing was changed.',
    );
  });
  test('a result that cannot be shown is not asked for again by a tool that writes', () => {
    expect(describeAs({ class: 'output_too_large', effectState: 'done' }).suggestedAction).toMatch(
      /^Do not call it again/,
    );
    expect(describeAs({ class: 'output_too_large', effectState: 'done' }, { tool: readTool }).suggestedAction).toMatch(
      /^Ask for a smaller result/,
    );
  });
});

describe("an error's own words", () => {
  const said = (reason: string, more: Partial<MessageContext> = {}) =>
    describeAs({ reason }, { tool: readTool, toolName: 'get_order', ...more }).message;
  test.each([
    ['TypeError: x is odd', 'get_order failed: x is odd.'],
    ['Error: Error: card declined.', 'get_order failed: card declined.'],
    ['java.lang.IllegalStateException: closed', 'get_order failed: closed.'],
    ['AxiosError [ERR_BAD_REQUEST]: nope', 'get_order failed: nope.'],
    ['Uncaught (in promise) Error: nope', 'get_order failed: nope.'],
    ['a NullPointerException was thrown', 'get_order failed: an error was thrown.'],
    ['Internal Server Error', 'get_order failed: Internal Server Error.'],
    ['boom\n    at f (file:///app/a.js:1:2)\n    at async g (node:x:3:4)', 'get_order failed: boom.'],
    ['Traceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: bad', 'get_order failed: bad.'],
    ['\u001b[31mred\u001b[0m and \u0007bell', 'get_order failed: red and bell.'],
    ['<html><body>x</body></html>', 'get_order failed without a message.'],
    ['a < b and List<Order> stay', 'get_order failed: a < b and List<Order> stay.'],
    ['[object Object]', 'get_order failed without a message.'],
    ['reads {tool} and [this {reason}] as text', 'get_order failed: reads {tool} and [this {reason}] as text.'],
  ])('%j', (reason, message) => {
    expect(said(reason)).toBe(message);
  });

  test('are kept from the model where the tool only lets public ones through', () => {
    const tool = manifestTool({ policy: toolPolicy({ effect: { kind: 'read' }, errors: 'public' }) });
    expect(said('db01 is down', { tool })).toBe('get_order failed without a message.');
    expect(describeAs({ reason: 'closed today', public: true }, { tool }).message).toContain('closed today');
    expect(describeAs({ class: 'business_rule_violation', reason: 'already shipped' }, { tool }).message).toContain(
      'already shipped',
    );
  });

  test('are masked before they are cut', () => {
    const reason = `${'x'.repeat(590)} token hunter2hunter2 ${'y'.repeat(2_000)}`;
    expect(said(reason, { redact: (text) => text.replaceAll('hunter2hunter2', '[redacted]') })).not.toContain(
      'hunter2',
    );
  });
});

describe('violations', () => {
  test('are listed all at once, each with field, problem, format and example', () => {
    const { message } = describeAs({
      class: 'validation_error',
      effectState: 'none',
      violations: [
        { path: '/items/0/sku', problem: 'is missing', expected: 'text', example: 'A-1' },
        { path: '', problem: 'has a field "x" that is not known', expected: '' },
      ],
    });
    expect(message).toBe(
      'refund_payment did not accept the arguments.\n- items.0.sku: is missing; expected text; for example "A-1"\n- the arguments as a whole: has a field "x" that is not known',
    );
  });
  test('that are too many are counted', () => {
    const violations = Array.from({ length: 500 }, (_, index) => ({
      path: `/items/${String(index)}`,
      problem: 'is not a number',
      expected: 'a number',
    }));
    const { message } = describeAs({ class: 'validation_error', violations });
    expect(message.length).toBeLessThanOrEqual(2_000);
    expect(message).toMatch(/- and \d+ more of the same kind$/m);
  });
});

describe("a tool's own texts", () => {
  const messages = {
    timeout: {
      message: '{tool} a mis trop de temps[ (après {attempts})]. [note]',
      suggestedAction: 'Réduire la demande.',
    },
  };
  test('are filled in like ours', () => {
    const failure = describeAs({ class: 'timeout' }, { messages, tool: readTool });
    expect(failure).toMatchObject({
      message: 'refund_payment a mis trop de temps. [note]',
      suggestedAction: 'Réduire la demande.',
    });
    expect(describeAs({ class: 'timeout' }, { messages, tool: readTool, attempts: 2 }).message).toContain(
      '(après 2 attempts)',
    );
  });
  test('a hint is what to do, except where safety speaks', () => {
    expect(describeAs({ effectState: 'none', hint: 'Try the other warehouse' }).suggestedAction).toBe(
      'Try the other warehouse.',
    );
    expect(describeAs({ hint: 'Try the other warehouse' }).suggestedAction).toBe(
      'First check what has been done. Try the other warehouse.',
    );
    expect(describeAs({ class: 'outcome_unknown', hint: 'Ask Ann' }).suggestedAction).toMatch(
      /^Do not repeat it now.* Ask Ann\.$/,
    );
    expect(
      describeAs({ effectState: 'none' }, { suggestion: { hint: 'Use metres', alternatives: ['b'] } }),
    ).toMatchObject({ suggestedAction: 'Use metres.', alternatives: ['b'] });
  });
  test('alternatives come from the failure, the suggestion and the tool, without the tool itself', () => {
    const tool = manifestTool({ alternatives: ['c', 'refund_payment', 'a'] });
    const failure = describeAs(
      { class: 'unsupported', alternatives: ['a'] },
      { tool, suggestion: { alternatives: ['b'] } },
    );
    expect(failure.alternatives).toEqual(['a', 'b', 'c']);
    expect(failure.suggestedAction).toContain('Use a, b or c instead');
  });
  test('output that is the failure reaches the model whole, with its kind', () => {
    const tool = manifestTool({ policy: toolPolicy({ failureOutput: 'verbatim' }) });
    const output = `src/a.ts(1,2): error TS2322: TypeError: x\n${'line\n'.repeat(5_000)}`;
    const failure = { class: 'tool_error', effectState: 'unknown', reason: output, kind: 'compile' } as const;
    expect(uncutReason(failure, { ...context, tool })).toBe(output);
    expect(describeFailure(failure, { ...context, tool })).toMatchObject({ kind: 'compile' });
    // What travels in a history is bounded all the same.
    expect(describeFailure(failure, { ...context, tool }).message.length).toBeLessThanOrEqual(2_000);
    const short = { ...failure, reason: 'src/a.ts(1,2): error TS2322: TypeError: x' };
    expect(describeFailure(short, { ...context, tool }).message).toBe(short.reason);
  });
  test('a reason that was cut is kept whole, in the words that the model may read', () => {
    const reason = `TypeError: ${'the list of what is wrong, hunter2hunter2. '.repeat(100)}`;
    const whole = uncutReason({ class: 'tool_error', effectState: 'unknown', reason }, context);
    expect(whole).toMatch(/^the list of what is wrong/);
    expect(whole?.length).toBeGreaterThan(2_000);
    expect(uncutReason({ class: 'tool_error', effectState: 'unknown', reason: 'short' }, context)).toBeUndefined();
    // A tool's bug is never told in its own words, whole or not.
    expect(uncutReason({ class: 'tool_bug', effectState: 'unknown', reason }, context)).toBeUndefined();
    const hidden = manifestTool({ policy: toolPolicy({ errors: 'public' }) });
    expect(
      uncutReason({ class: 'tool_error', effectState: 'unknown', reason }, { ...context, tool: hidden }),
    ).toBeUndefined();
  });
  test('alternatives are named as the model knows them', () => {
    const tool = manifestTool({ alternatives: ['shop.search'] });
    const shownName = (name: string) => name.replaceAll('.', '_');
    expect(describeAs({ class: 'unsupported' }, { tool, shownName })).toMatchObject({ alternatives: ['shop_search'] });
  });
});

describe('what code reads', () => {
  test('an unchanged call may be retried only where the table, the backend and the wait agree', () => {
    expect(describeAs({ class: 'rate_limit', retryAfterMs: 5 })).toMatchObject({ retryable: true, retryAfterMs: 5 });
    expect(describeAs({ class: 'rate_limit', shouldRetry: false, retryAfterMs: 5 })).toMatchObject({
      retryable: false,
    });
    expect(describeAs({ class: 'rate_limit', shouldRetry: false, retryAfterMs: 5 }).retryAfterMs).toBeUndefined();
    expect(describeAs({ class: 'tool_temporarily_disabled', retryAfterMs: 5 })).toMatchObject({ retryable: true });
    expect(describeAs({ class: 'tool_temporarily_disabled' })).toMatchObject({
      retryable: false,
      actionRequired: 'switch_strategy',
    });
  });
  test("the code of the failure wins over the class's", () => {
    expect(describeAs({ class: 'validation_error', code: 'PARAM_MISSING_001' }).code).toBe('PARAM_MISSING_001');
    expect(describeAs({ class: 'validation_error' }).code).toBe('PARAM_INVALID_001');
  });
});

test('a failure is bounded, whatever it says', () => {
  const text = fc.string({ unit: 'binary', maxLength: 20_000 });
  const failures = fc.record({
    class: fc.constantFrom(...failureClassNames),
    effectState: fc.constantFrom('none' as const, 'unknown' as const),
    reason: text,
    hint: text,
    violations: fc.array(fc.record({ path: text, problem: text, expected: text }), { maxLength: 5 }),
  });
  fc.assert(
    fc.property(failures, text, (failure, toolName) => {
      const described = describeFailure(failure, { ...context, toolName });
      expect(described.message.length).toBeLessThanOrEqual(2_000);
      expect(described.suggestedAction.length).toBeLessThanOrEqual(600);
      expect(described.message.isWellFormed()).toBe(true);
      expect(described.message.length).toBeGreaterThan(10);
    }),
    { numRuns: 200 },
  );
});

test('every example has what its class needs', () => {
  for (const failureClass of failureClassNames) expect(exampleFailure(failureClass).failure.class).toBe(failureClass);
});
