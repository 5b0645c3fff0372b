import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/policy/redaction.js';

const secret = 'Tr0ub4dor&3 käse/+=';
const redactor = createRedactor({ secrets: [secret, 'p1n4'] });
const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

describe('a known secret', () => {
  const json = createRedactor({ secrets: ['say "hello\\world"'] });
  test.each([
    ['plain', `x ${secret} y`, 'x [redacted] y'],
    ['inside a word', `a${secret}b`, 'a[redacted]b'],
    ['URL-encoded', `?q=${encodeURIComponent(secret)}&x=1`, '?q=[redacted]&x=1'],
    [
      'URL-encoded in lower case',
      `?q=${encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())}&x=1`,
      '?q=[redacted]&x=1',
    ],
    ['as a form field', `q=${encodeURIComponent(secret).replaceAll('%20', '+')}&x=1`, 'q=[redacted]&x=1'],
  ])('%s', (_name, text, expected) => {
    expect(redactor.text(text)).toBe(expected);
  });
  test('JSON-escaped', () => {
    expect(json.text(JSON.stringify({ v: 'say "hello\\world"' }))).toBe('{"v":"[redacted]"}');
  });
  test.each([0, 1, 2, 3, 4, 5])('in base64, %i bytes into what was encoded', (before) => {
    for (const after of ['', 'x', 'xy', 'xyz']) {
      const text = base64(`${'u'.repeat(before)}${secret}${after}`);
      for (const form of [text, text.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(text)]) {
        const masked = redactor.text(`v=${form};`);
        expect(masked).toContain('[redacted]');
        expect(Buffer.from(masked.slice(2).split('[redacted]')[0] ?? '', 'base64').toString('utf8')).not.toContain(
          'Tr0u',
        );
      }
    }
  });
  test('that is short is masked only where it stands alone', () => {
    expect(redactor.text('pin p1n4, key ap1n4b')).toBe('pin [redacted], key ap1n4b');
  });
  test('within another goes with the longer one', () => {
    const both = createRedactor({ secrets: ['abcdefgh', 'abcdefgh12345678'] });
    expect(both.text('abcdefgh12345678 abcdefgh')).toBe('[redacted] [redacted]');
  });
  test('that is too short to tell is ignored', () => {
    expect(createRedactor({ secrets: ['', 'a', 'abc'] }).text('a abc')).toBe('a abc');
  });
});

describe('what looks like a secret', () => {
  const plain = createRedactor({ secrets: [] });
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
  test.each([
    ['Authorization: Bearer abc123def456', 'Authorization: [redacted]'],
    ['authorization: "Basic dXNlcjpwYXNz"', 'authorization: "[redacted]"'],
    ['{"Authorization":"Token abcdef"}', '{"Authorization":"[redacted]"}'],
    ['{\\"authorization\\":\\"Bearer abc123def456\\"}', '{\\"authorization\\":\\"[redacted]\\"}'],
    ['Proxy-Authorization: secretvalue', 'Proxy-Authorization: [redacted]'],
    ['Cookie: sid=zzz; theme=dark\nHost: x', 'Cookie: [redacted]\nHost: x'],
    ['set-cookie: sid=zzz; HttpOnly', 'set-cookie: [redacted]'],
    ['used Bearer abcdef1234567 for it', 'used Bearer [redacted] for it'],
    ['sent Basic dXNlcjpwYXNzd29yZA== to it', 'sent Basic [redacted] to it'],
    ['https://api.test/v1?api_key=topsecret&x=1', 'https://api.test/v1?api_key=[redacted]&x=1'],
    ['https://x.test/?a=1&access_token=abc.def#frag', 'https://x.test/?a=1&access_token=[redacted]#frag'],
    ['https://maps.test/?key=AbCdEf0123456789AbCd', 'https://maps.test/?key=[redacted]'],
    ['postgres://app:s3cr3t@db:5432/shop', 'postgres://app:[redacted]@db:5432/shop'],
    ['DB_PASSWORD=hunter22 npm start', 'DB_PASSWORD=[redacted] npm start'],
    ['{"password":"correct horse"}', '{"password":"[redacted]"}'],
    ["client_secret: 'correct horse'", "client_secret: '[redacted]'"],
    ['api_key: 8f14e45fceea167a5a36', 'api_key: [redacted]'],
    ['key sk-proj-Abc123Def456Ghi789Jkl', 'key [redacted]'],
    ['sk_live_4eC39HqLyjWDarjtT1zdp7dc', '[redacted]'],
    ['ghp_16C7e42F292c6912E7710c838347Ae178B4a', '[redacted]'],
    ['xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOHcbrzygy', '[redacted]'],
    ['AKIAIOSFODNN7EXAMPLE', '[redacted]'],
    ['AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe', '[redacted]'],
    [`token ${jwt}.`, 'token [redacted].'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\nafter', '[redacted]\nafter'],
    ['-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKC', '[redacted]'],
  ])('%s', (text, expected) => {
    expect(plain.text(text)).toBe(expected);
  });

  test('by the name of its field', () => {
    const value = {
      headers: { Authorization: 'x', Cookie: ['a=1'], accept: 'json' },
      password: null,
      api_key: 42,
      nested: [{ clientSecret: 'x', 'client-secret': 'y' }],
      note: 'Bearer abcdef1234567',
    };
    expect(plain.json(value)).toEqual({
      headers: { Authorization: '[redacted]', Cookie: '[redacted]', accept: 'json' },
      password: null,
      api_key: '[redacted]',
      nested: [{ clientSecret: '[redacted]', 'client-secret': '[redacted]' }],
      note: 'Bearer [redacted]',
    });
  });
});

describe('ordinary text', () => {
  const page = `
Dear customer, your order 1042-88731 was shipped on 12 May. The bearer of this letter may collect it; bearer tokens are not needed.
Basic information about cookies: a cookie is a small file. Cookie: chocolate chip. The secret of good bread is time; the key is patience.
Authorization is required before you can pay. Authorization: ask Ann first. Forgotten your password? Password: must be at least 8 characters long. The token is valid for a day.
Commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, request 3f2b8c1e-7a4d-4e0b-9c58-1d2e3f4a5b6c, IBAN DE89370400440532013000.
https://shop.example.test/orders?page=2&sort=key&next_page_token=CAUQAA&key=name mailto:ann@example.test git@github.com:acme/shop.git http://localhost:7233/
const password = getPassword(); connect(password=get_secret()); if (token === undefined) throw new Error('no token');
task-risk-based sk-learn and sk-based names; skiing; eyJ; AKIA; -----BEGIN CERTIFICATE-----
MIIBszCCAVmgAwIBAgIUQ==
-----END CERTIFICATE-----
Temperature 12:30, ratio 3:4, a@b, 10.0.0.1:8080, sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
pay_7f3k2m9x1c4v cus_9s6XKzkNRiz8i3 k1:5f4dcc3b5aa765d61d8327deb882cf99 tracking 1Z999AA10123456784 ISBN 978-3-16-148410-0`;
  test('is left alone', () => {
    const lines = page.split('\n');
    expect(lines.map((line) => redactor.text(line))).toEqual(lines);
    expect(redactor.text(page)).toBe(page);
  });
  test('a field is not secret because its name holds the word', () => {
    const value = { next_page_token: 'CAUQAA', tokens: 42, keyboard: 'de', secretary: 'Ann', input_tokens: 7 };
    expect(redactor.json(value)).toEqual(value);
  });
});

test('masking masked text changes nothing', () => {
  const pieces = fc.constantFrom(
    secret,
    base64(secret),
    'Authorization: Bearer abc123def',
    '?token=',
    'Cookie: a=b',
    'password="',
    '"',
    ' ',
    '\n',
    'sk-abcdefgh12345678',
    'https://u:p@h/',
    '=',
    'x',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (texts) => {
      const masked = redactor.text(texts.join(''));
      expect(redactor.text(masked)).toBe(masked);
    }),
    { numRuns: 1_000 },
  );
});

test('a megabyte of anything is masked in linear time', () => {
  const fillers = [
    'a',
    'a.',
    'sk-',
    'cookie: a=',
    'authorization: ',
    'password=',
    '"password": "',
    'bearer ',
    'http://a',
    '&token=',
    '-----BEGIN PRIVATE KEY-----',
    ' ',
    '_',
    'eyJaaaaaaaaa.',
  ];
  const started = performance.now();
  for (const filler of fillers) redactor.text(filler.repeat(1_000_000 / filler.length));
  // About 2 s on two slow cores; a quadratic pattern takes minutes.
  expect(performance.now() - started).toBeLessThan(30_000);
}, 60_000);

test('is found as other languages escape it in JSON', () => {
  const escaping = createRedactor({ secrets: ['hunter2/öl'] });
  for (const text of ['"hunter2/\\u00f6l"', '"hunter2\\/\\u00f6l"', '"hunter2\\/\\u00f6l and"', '"hunter2/öl"']) {
    expect(escaping.text(text)).toMatch(/^"\[redacted\]/);
  }
});

test('declared secrets can be masked without what only looks like one', () => {
  const both = createRedactor({ secrets: ['hunter2hunter2'] });
  expect(both.declared('hunter2hunter2 and password="swordfish1"')).toBe('[redacted] and password="swordfish1"');
  expect(both.text('hunter2hunter2 and password="swordfish1"')).toBe('[redacted] and password="[redacted]"');
  // The folder that a shell is in, and a password.
  expect(both.json({ pwd: '/home/ada', config: { pwd: 'swordfish' } })).toEqual({
    pwd: '/home/ada',
    config: { pwd: '[redacted]' },
  });
});
