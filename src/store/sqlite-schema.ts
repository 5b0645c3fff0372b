/** Marks a SQLite file as a perdure store (`PRAGMA application_id`): "prdu" in ASCII. */
export const APPLICATION_ID = 0x70726475;

/**
 * Forward migrations; the schema's version is their number. A released one never changes. Each runs in the transaction
 * that raises `schema_version`.
 *
 * Free text from models and tools is kept as JSON, which holds what SQLite's UTF-8 does not (lone surrogates). Times are
 * epoch milliseconds on the store's clock.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE manifests (
    hash     TEXT PRIMARY KEY,
    manifest TEXT NOT NULL
  ) STRICT;

  -- Erasing sets erased_at_ms and replaces the bytes: by the message without its texts where a node points here, else by
  -- none. The id stays, so the chain stays whole.
  CREATE TABLE bodies (
    id           TEXT PRIMARY KEY,
    bytes        BLOB NOT NULL,
    erased_at_ms INTEGER
  ) STRICT;

  CREATE TABLE nodes (
    id     TEXT PRIMARY KEY,
    parent TEXT REFERENCES nodes (id),
    body   TEXT NOT NULL REFERENCES bodies (id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX nodes_by_parent ON nodes (parent);

  CREATE TABLE runs (
    ordinal       INTEGER PRIMARY KEY,
    run_key       TEXT NOT NULL UNIQUE,
    workflow_id   TEXT NOT NULL,
    task          TEXT NOT NULL,
    manifest_hash TEXT NOT NULL REFERENCES manifests (hash),
    head          TEXT REFERENCES nodes (id),
    status        TEXT NOT NULL,
    result        TEXT,
    started_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT;

  -- started_order and committed_order count within a run. Every committed turn is a root for garbage collection, as its
  -- answer may be used again after a reset.
  CREATE TABLE turns (
    run_key         TEXT NOT NULL REFERENCES runs (run_key),
    step            INTEGER NOT NULL,
    head            TEXT NOT NULL,
    settings        TEXT NOT NULL,
    take            INTEGER NOT NULL,
    starts          INTEGER NOT NULL,
    started_order   INTEGER NOT NULL,
    committed_order INTEGER,
    committed_at_ms INTEGER,
    result          TEXT,
    PRIMARY KEY (run_key, step, head, settings, take)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX turns_by_start ON turns (run_key, started_order);
  CREATE UNIQUE INDEX turns_by_commit ON turns (run_key, committed_order) WHERE committed_order IS NOT NULL;

  CREATE TABLE calls (
    ordinal           INTEGER PRIMARY KEY,
    key               TEXT NOT NULL UNIQUE,
    run_key           TEXT NOT NULL,
    call_id           TEXT NOT NULL,
    tool              TEXT NOT NULL,
    digest            TEXT NOT NULL,
    effect            TEXT NOT NULL,
    state             TEXT NOT NULL,
    token             TEXT,
    lease_until_ms    REAL NOT NULL,
    begun             INTEGER NOT NULL,
    starts            INTEGER NOT NULL,
    spent_ms          REAL NOT NULL,
    may_have_happened INTEGER NOT NULL,
    first_start_at_ms INTEGER,
    begun_at_ms       INTEGER,
    outcome           TEXT,
    rendered          TEXT,
    updated_at_ms     INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX calls_by_run ON calls (run_key);

  CREATE TABLE attempts (
    key           TEXT NOT NULL,
    start         INTEGER NOT NULL,
    worker        TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER,
    failure       TEXT,
    PRIMARY KEY (key, start)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- State of breakers, limiters, retry budgets and locks, by kind and name. Written without a sync to disk.
  CREATE TABLE shared (
    name          TEXT PRIMARY KEY,
    state         TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Empty for runs of older versions. ended_by: the execution (Temporal's run id) that wrote the end.
  ALTER TABLE runs ADD COLUMN pinned TEXT;
  ALTER TABLE runs ADD COLUMN ended_by TEXT;
  ALTER TABLE calls ADD COLUMN starts_before INTEGER NOT NULL DEFAULT 0;

  -- What persons decided about runs: retries, and what became of calls whose answer was lost.
  CREATE TABLE interventions (
    run_key      TEXT NOT NULL REFERENCES runs (run_key),
    id           TEXT NOT NULL,
    ordinal      INTEGER NOT NULL,
    at_ms        INTEGER NOT NULL,
    intervention TEXT NOT NULL,
    PRIMARY KEY (run_key, id)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- JSON: what a start was seen to ask of its backends. Starts of model turns are here too where a client of the model
  -- retried by itself; their keys begin with turn/.
  ALTER TABLE attempts ADD COLUMN requests TEXT;

  -- When the content was last written, or written again (to TOUCHED_EVERY_MS): what is younger than the grace age is not
  -- collected, because whatever wrote it may be about to refer to it.
  ALTER TABLE bodies ADD COLUMN touched_at_ms INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE nodes ADD COLUMN touched_at_ms INTEGER NOT NULL DEFAULT 0;

  -- Garbage collection asks whether a run has come to a node.
  CREATE INDEX runs_by_head ON runs (head);

  -- Runs whose record was collected: nothing of them may be written again.
  CREATE TABLE tombstones (
    run_key         TEXT PRIMARY KEY,
    workflow_id     TEXT NOT NULL,
    status          TEXT NOT NULL,
    started_at_ms   INTEGER NOT NULL,
    ended_at_ms     INTEGER NOT NULL,
    collected_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- When the Temporal server scheduled the activity that last changed the status: what an execution asked for earlier than
  -- that, and that arrives late, changes nothing.
  ALTER TABLE runs ADD COLUMN asked_at_ms INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- The execution (Temporal's run id) that has the run; NULL where it is not known, and the server has to be asked. Times
  -- were no order of executions: an activity that a reset carries over keeps the time at which it was scheduled first.
  ALTER TABLE runs ADD COLUMN execution TEXT;
  ALTER TABLE runs DROP COLUMN asked_at_ms;
  `,
];

export const SCHEMA_VERSION = MIGRATIONS.length;
