import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../src/arguments/parse-arguments.js';

function read(raw: string, finishReason: 'stop' | 'length' = 'stop', schema?: object) {
  return parseArguments(raw, { finishReason, ...(schema ? { schema: schema as never } : {}) });
}

function valueOf(raw: string) {
  const result = read(raw);
  if (!result.ok) throw new Error(result.failure.reason);
  return result;
}

function reasonOf(raw: string, finishReason: 'stop' | 'length' = 'stop'): string {
  const result = read(raw, finishReason);
  if (result.ok) throw new Error(`read as ${JSON.stringify(result.value)}`);
  expect(result.failure).toMatchObject({ class: 'validation_error', effectState: 'none', public: true });
  expect(result.raw).toBe(raw);
  return result.failure.reason ?? '';
}

describe('plain JSON', () => {
  it('is read without a repair', () => {
    expect(valueOf(' {"a": [1, 2.5, true, null, "x\\n\\u00e9"]}\n')).toMatchObject({
      value: { a: [1, 2.5, true, null, 'x\né'] },
      repairs: [],
    });
  });

  it('keeps apostrophes, fences and braces inside text', () => {
    const value = { q: "what's the user's {plan}", code: '```json\n{}\n```' };
    expect(valueOf(JSON.stringify(value))).toMatchObject({ value, repairs: [] });
  });

  it('keeps an ordinary key that every object inherits', () => {
    const { value } = valueOf('{"constructor":"x","toString":1,"hasOwnProperty":null}');
    expect(Object.entries(value)).toEqual([
      ['constructor', 'x'],
      ['toString', 1],
      ['hasOwnProperty', null],
    ]);
  });

  it('round-trips any object of JSON unchanged, without a repair', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })), (object) => {
        const text = JSON.stringify(object);
        fc.pre(!/"__proto__"|"prototype"/.test(text));
        const result = read(text);
        expect(result.ok && [JSON.stringify(result.value), result.repairs]).toEqual([text, []]);
      }),
    );
  });
});

describe('any text at all', () => {
  const pieces = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      ':',
      ',',
      '\\',
      '```',
      '1',
      '-',
      'e9',
      'true',
      'nul',
      '"a"',
      '__proto__',
      '\n',
      '\ud800',
      '<x>',
    ],
  );

  it('never makes the parser throw, and never reaches a prototype', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.array(pieces).map((each) => each.join('')),
        ),
        (raw) => {
          const result = read(raw);
          expect(typeof result.ok).toBe('boolean');
          expect(Object.keys(Object.prototype)).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('agrees with JSON.parse wherever it reads without a repair', () => {
    fc.assert(
      fc.property(
        fc.array(pieces).map((each) => `{"k":${each.join('')}}`),
        (raw) => {
          const result = read(raw);
          if (result.ok && result.repairs.length === 0) expect(result.value).toEqual(JSON.parse(raw));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is never read from a prefix: every cut of an object is refused as cut off', () => {
    const whole = '{"table":"orders","n":-12.5e3,"deep":{"list":[true,false,null,"\\u00e9\\n"]}}';
    for (let length = 1; length < whole.length; length++) {
      expect(reasonOf(whole.slice(0, length))).toContain(`cut off: ${length} characters were received`);
    }
  });
});

describe('a reply that ended too early', () => {
  it.each(['', '{"a":', '```json\n{"a":1}\n```', '"{\\"a\\":1}"', "{'a':1}", '{"a":1}{"a":2}', '{"a":"x\ny"}'])(
    'is never repaired: %j',
    (raw) => {
      expect(reasonOf(raw, 'length')).toContain(`cut off: ${raw.length} characters`);
    },
  );

  it('still gives an object that was complete before it ended', () => {
    expect(read('{"a":1}', 'length')).toMatchObject({ ok: true, value: { a: 1 }, repairs: [] });
  });
});

describe('lossless repairs', () => {
  it.each([
    ['"{\\"a\\":1}"', { a: 1 }, ['read the JSON object inside the JSON text that was sent']],
    ['\ufeff{"a":1}', { a: 1 }, ['left out a byte order mark or other invisible space around the JSON']],
    ['~~~\n{"a":1}\n~~~\n', { a: 1 }, ['took the JSON out of the Markdown code fence around it']],
    ['{"a":"x\n\ty"}', { a: 'x\n\ty' }, ['read unescaped line breaks or tabs inside text as themselves']],
    ['  \n', {}, ['read empty arguments as no arguments ({})']],
  ])('are recorded in words: %j', (raw, value, repairs) => {
    expect(valueOf(raw)).toMatchObject({ value, repairs });
  });

  it('unwrap three levels and no more', () => {
    const wrap = (levels: number): string =>
      Array.from({ length: levels }).reduce<string>((text) => JSON.stringify(text), '{"a":1}');
    expect(valueOf(wrap(3)).value).toEqual({ a: 1 });
    expect(reasonOf(wrap(4))).toContain('more than 3 times');
  });

  it('do not take no text for no arguments where the tool needs some', () => {
    const result = read('', 'stop', { type: 'object', required: ['path'] });
    expect(result).toMatchObject({ ok: false, failure: { code: 'PARAM_MISSING_001' } });
    expect(result.ok || result.failure.reason).toBe('No arguments were sent, but one is needed: path');
  });
});

describe('numbers', () => {
  it.each(['2512292042121000001', '-9007199254740993', '9223372036854775807', `1${'0'.repeat(30)}7`])(
    'keeps every digit of %s, as text',
    (digits) => {
      expect(valueOf(`{"id":${digits}}`)).toMatchObject({
        value: { id: digits },
        exactNumbers: [{ path: '/id', digits }],
        repairs: [`id: kept the number ${digits} as text, because a number would round it`],
      });
    },
  );

  it('never changes a whole number that it hands on as a number', () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 80n), 2n ** 80n), (integer) => {
        const { value } = valueOf(`{"n":${integer}}`);
        if (typeof value['n'] === 'number') expect(JSON.stringify(value['n'])).toBe(JSON.stringify(Number(integer)));
        else expect(value['n']).toBe(String(integer));
        if (typeof value['n'] === 'number' && Math.abs(value['n']) < 1e21) {
          expect(String(value['n'])).toBe(String(integer));
        }
      }),
    );
  });

  it.each(['1e999', '-1e999', '1e-999'])('refuses %s, which is out of range', (number) => {
    expect(reasonOf(`{"a":${number}}`)).toContain(`The number ${number} is outside the range`);
  });

  it.each(['00501', '+1', '.5', '1.', '0x1F', '1_000', '1,5e'])('refuses %s, which is no JSON number', (number) => {
    expect(reasonOf(`{"a":[${number}]}`)).toMatch(/is not a JSON number|is not valid JSON|missing/);
  });
});

describe('what is wrong with the text', () => {
  it.each([
    ['{"a":{"path":1,"b":[],"path":2}}', /key "path" appears twice/],
    ['{"a":1,"\\u0061":2}', /key "a" appears twice/],
    ['{"__proto__":{"x":1}}', /key "__proto__" is not allowed/],
    ['{"a":[{"\\u005f_proto__":1}]}', /key "__proto__" is not allowed/],
    ['{"constructor":{"prototype":{"x":1}}}', /key "constructor.prototype" is not allowed/],
    ['{"a":"\\ud83d"}', /half of a Unicode character/],
    ['{"a":"\ud83d"}', /half of a Unicode character/],
    ["{'a': 1}", /single quotes/],
    ["{'a': True}", /Python literal/],
    ['{"a": None}', /Python literal: None/],
    ['{"a":NaN}', /NaN does not exist in JSON/],
    ['{"a":-Infinity}', /-Infinity does not exist/],
    ['{"a":undefined}', /undefined does not exist/],
    ['{"a":[1,2,]}', /comma stands before a closing bracket/],
    ['{"a":1 /* all */}', /a comment/],
    ['{a:1}', /key is not in double quotes/],
    ['{“a”:1}', /typographic quotes/],
    ['{"a":"C:\\dir"}', /\\d is not an escape/],
    ['{"a":"\u0000"}', /control character/],
    ['<invoke name="ls"><parameter>src</parameter></invoke>', /written with tags/],
    ['Sure! {"a":1}', /other text before the object/],
    ['{"a":1} Done.', /other text after the object/],
    ['{"a":1}\n{"a":2}\n{"a":3}', /3 JSON values were sent one after another/],
    ['{"a":1},{"a":2}', /2 JSON values/],
    ['{}{"a":1}', /2 JSON values/],
    ['[{"a":1}]', /must be a JSON object, but a list/],
    ['null', /must be a JSON object, but null/],
    ['7', /must be a JSON object, but a number/],
    ['"null"', /must be a JSON object, but a text/],
    ['"[1,2]"', /must be a JSON object, but a text/],
    [`{"a":${'['.repeat(600)}${']'.repeat(600)}}`, /nested more than 500 levels/],
  ])('is named: %j', (raw, words) => {
    expect(reasonOf(raw)).toMatch(words);
  });

  it('is shown at its place, in a short excerpt', () => {
    const raw = `{"text":"${'x'.repeat(500)}","flag":True,"more":"${'y'.repeat(500)}"}`;
    const reason = reasonOf(raw);
    expect(reason).toContain(`at character ${raw.indexOf('True') + 1}`);
    expect(reason).toContain('True');
    expect(reason.length).toBeLessThan(220);
  });

  it('is found in linear time', () => {
    const started = performance.now();
    reasonOf(`{"a":"${'\\"'.repeat(500_000)}`);
    valueOf(`{"a":[${'[1,{"b":"c"}],'.repeat(60_000)}1]}`);
    reasonOf(`{"a":1${'0'.repeat(500_000)}e1}`);
    expect(performance.now() - started).toBeLessThan(3000);
  });
});
