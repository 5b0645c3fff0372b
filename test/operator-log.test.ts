import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { logDestination, operatorLog } from '../src/operator-log.js';

function lines(level?: string) {
  const written: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  return { written, log: operatorLog({ destination, ...(level === undefined ? {} : { level }) }) };
}

test('each event is one line of JSON with its level, words and fields', () => {
  const { written, log } = lines('debug');
  log.debug('a', { call: 'c1.0' });
  log.info('b');
  log.warn('c', { nested: { n: 1 } });
  log.error('d');
  expect(written).toMatchObject([
    { level: 20, name: 'perdure', msg: 'a', call: 'c1.0' },
    { level: 30, msg: 'b' },
    { level: 40, msg: 'c', nested: { n: 1 } },
    { level: 50, msg: 'd' },
  ]);
});

test('levels below the chosen one are left out', () => {
  const { written, log } = lines('warn');
  log.info('no');
  log.warn('yes');
  expect(written.map(({ msg }) => msg)).toEqual(['yes']);
});

test('silent says nothing', () => {
  const { written, log } = lines('silent');
  log.error('no');
  expect(written).toEqual([]);
});

test('a file is made with its folder, and has each line once it was logged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-log-'));
  try {
    const path = join(folder, 'deep', 'worker.log');
    const destination = logDestination(path);
    operatorLog({ destination }).warn('a');
    expect(readFileSync(path, 'utf8')).toMatch(/^\{.*"msg":"a"\}\n$/);
    destination.end();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a disk that is full stops nobody who logs, however much it is', () => {
  const full = openSync('/dev/full', 'w');
  try {
    const log = operatorLog({ destination: logDestination(full) });
    for (let line = 0; line < 100; line += 1) log.warn('x'.repeat(100_000));
  } finally {
    closeSync(full);
  }
});
