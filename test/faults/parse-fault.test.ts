import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFaults, readFault } from '../../src/faults/parse-fault.js';
import { failureClassNames } from '../../src/policy/failure-classes.js';

const every = { on: 'every' };

describe('parseFaults', () => {
  it('reads the three faults of the example', () => {
    expect(parseFaults('F', 'charge:timeout@3,search:503@10%,*:crash-after-effect@1')).toEqual([
      {
        text: 'charge:timeout@3',
        tool: 'charge',
        action: { kind: 'class', class: 'timeout' },
        timing: { on: 'nth', nth: 3 },
      },
      {
        text: 'search:503@10%',
        tool: 'search',
        action: { kind: 'http', status: 503 },
        timing: { on: 'chance', probability: 0.1 },
      },
      {
        text: '*:crash-after-effect@1',
        tool: '*',
        action: { kind: 'crash-after-effect' },
        timing: { on: 'nth', nth: 1 },
      },
    ]);
  });

  it.each([
    ['a:commit-then-no-answer', { kind: 'commit-then-no-answer' }, every],
    ['a:crash-before-effect@*', { kind: 'crash-before-effect' }, every],
    ['a:oversized@2', { kind: 'oversized' }, { on: 'nth', nth: 2 }],
    ['a:garbage@0.5%', { kind: 'garbage' }, { on: 'chance', probability: 0.005 }],
    ['a:slow(250)', { kind: 'slow', ms: 250 }, every],
    ['a:slow(1.5s)@100%', { kind: 'slow', ms: 1500 }, { on: 'chance', probability: 1 }],
    ['a:404', { kind: 'http', status: 404 }, every],
  ])('reads %s', (text, action, timing) => {
    expect(parseFaults('F', text)).toEqual([{ text, tool: 'a', action, timing }]);
  });

  it('knows every failure class', () => {
    for (const name of failureClassNames) {
      expect(parseFaults('F', `a:${name}`)[0]?.action).toEqual({ kind: 'class', class: name });
    }
  });

  it('takes blanks, a trailing comma, and names with a colon in them', () => {
    expect(parseFaults('F', ' server:search : timeout @ 2 , ').map(({ tool, timing }) => ({ tool, timing }))).toEqual([
      { tool: 'server:search', timing: { on: 'nth', nth: 2 } },
    ]);
  });

  it.each([
    ['charge', "F[0]: expected tool:fault, for example 'charge:timeout@3', got 'charge'"],
    [
      'a:timeout,b:tiemout',
      "F[1]: expected a failure class, an HTTP status from 400 to 599, slow(200ms), commit-then-no-answer, crash-before-effect, crash-after-effect, oversized, garbage; got 'tiemout'; did you mean 'timeout'?",
    ],
    ['a:200', "got '200'"],
    ['a:', "got ''"],
    [':timeout', "F[0]: expected a tool's name or '*', got an empty text"],
    ['a:timeout,,b:404', "F[1]: expected tool:fault, for example 'charge:timeout@3', got ''"],
    [
      'a:timeout@0',
      "F[0]: expected after @ the number of a start (1 is the first), a share such as '10%', or '*' for every start; got '0'",
    ],
    ['a:timeout@', "got ''"],
    ['a:timeout@0%', "got '0%'"],
    ['a:timeout@101%', "got '101%'"],
    ['a:timeout@1.5', "got '1.5'"],
    ['a:slow', 'F[0]: slow: expected how long, for example slow(200ms)'],
    ['a:slow(soon)', "F[0]: slow: expected milliseconds or a text such as '30s' or '5m', got 'soon'"],
  ])('refuses %s with place, value and way out', (text, message) => {
    expect(() => parseFaults('F', text)).toThrow(message);
    expect(() => parseFaults('F', text)).toThrow(expect.objectContaining({ name: 'ConfigError' }));
  });

  it('takes or refuses any text, and throws nothing but a ConfigError', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab:@%*,(). 0159-_timeout') }), (text) => {
        try {
          parseFaults('F', text);
        } catch (error) {
          expect(error).toMatchObject({ name: 'ConfigError' });
        }
      }),
    );
  });
});

describe('readFault', () => {
  it('reads a fault by its parts as by its words', () => {
    expect(readFault('faults[0]', { tool: 'a', fault: 503, at: '10%' })).toEqual(parseFaults('F', 'a:503@10%')[0]);
    expect(readFault('faults[0]', { tool: 'a', fault: 'slow(1s)', at: 3 })).toEqual(
      parseFaults('F', 'a:slow(1s)@3')[0],
    );
    expect(readFault('faults[0]', 'a:garbage')).toEqual(parseFaults('F', 'a:garbage')[0]);
  });

  it.each([
    [5, 'faults[0]: expected an object, got 5'],
    [{ tool: 'a', kind: 'timeout' }, 'faults[0].kind: unknown option'],
    [{ fault: 'timeout' }, "faults[0].tool: expected a tool's name, got undefined"],
    [{ tool: 'a' }, 'faults[0].fault: expected a failure class'],
    [{ tool: 'a', fault: 'timeout', at: true }, 'faults[0].at: expected after @ the number of a start'],
    [{ tool: 'a', fault: 'timeout', at: -1 }, "got '-1'"],
  ])('refuses %j with path and value', (option, message) => {
    expect(() => readFault('faults[0]', option)).toThrow(message);
  });
});
