import { expect, test } from 'vitest';
import { systemPrompt } from '../../src/activities/system-prompt.js';
import { failureProtocol } from '../../src/policy/failure-protocol.js';

test('the system text is the instructions and how to read failures, and nothing else', () => {
  expect(systemPrompt({ instructions: 'Be kind.' })).toBe(`Be kind.\n\n${failureProtocol}`);
  expect(systemPrompt({ instructions: '' })).toBe(failureProtocol);
});

test('what a turn needs besides comes last, the end of the run at the very end', () => {
  const text = systemPrompt({
    instructions: 'Be kind.',
    emphasis: [{ tool: 'search', failures: 3 }],
    nudge: 'empty',
    finalTurn: { reason: "the run's limit of 3 steps is used up" },
  });
  const order = [
    'Be kind.',
    failureProtocol,
    '- search has failed 3 times',
    'Your last reply was empty',
    'This is your last',
  ];
  const places = order.map((part) => text.indexOf(part));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places).not.toContain(-1);
  expect(text).toContain("This is your last turn: the run's limit of 3 steps is used up. No tools are available");
});
