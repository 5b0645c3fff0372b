import { expect, test } from 'vitest';
import { toStoreError as fromPostgres } from '../../src/store/postgres-error.js';
import { toStoreError as fromSqlite } from '../../src/store/sqlite-error.js';

test('a disk that fails under PostgreSQL (58030) is an outage, not a fault of the request', () => {
  const error = Object.assign(new Error('could not read file: Input/output error'), { code: '58030' });
  expect(fromPostgres(error, 'db', 'getRun')).toMatchObject({ name: 'StoreError', code: 'unavailable' });
});

test('a log of SQLite that others keep changing (SQLITE_PROTOCOL) is an outage, not a fault of the request', () => {
  const error = Object.assign(new Error('locking protocol'), { errcode: 15 });
  expect(fromSqlite(error, 'store.db', 'getRun')).toMatchObject({ name: 'StoreError', code: 'unavailable' });
});
