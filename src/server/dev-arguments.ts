import type { Json } from '../contract/json.js';
import { searchAttributeKeys } from '../contract/search-attributes.js';
import { cliTypeName } from './search-attributes.js';

/** Dynamic configuration of the Temporal server by key. */
export type DynamicConfig = Readonly<Record<string, Json>>;

/**
 * Measured here with SDK 1.24 and server 1.29.1 on 2 shared cores: 60 activities one after another; 8 runs at once;
 * an activity that is retried after 50 ms.
 *
 * | settings                    | one activity | 8 runs: each activity | with one retry |
 * | --------------------------- | ------------ | --------------------- | -------------- |
 * | the server's defaults       | 90 ms        | 16 ms                 | 1030 ms        |
 * | these                       | 11–18 ms     | 9–10 ms               | 160 ms         |
 * | these, maximum of polls 20  | 91 ms        | 13 ms                 | 110 ms         |
 * | these, timer shift 1s       | 11 ms        | 5 ms                  | 1016 ms        |
 *
 * 100 or 1000 polls a second differ from 200 by less than two equal measurements do.
 */
const dynamicConfig: DynamicConfig = {
  // An activity of the worker's own queue comes with the answer to its workflow task, without a poll in between: 20 to 25 %
  // less CPU of the server for each step of an agent, and about a third less wall time (docs/benchmarks.md).
  'system.enableActivityEagerExecution': true,
  'history.transferProcessorMaxPollRPS': 200,
  'history.timerProcessorMaxTimeShift': '20ms',
};

/**
 * A write-ahead log, synced at checkpoints: after a power cut the last steps may be missing, the file stays whole.
 * `synchronous=full` costs 40 % of the throughput of many runs, the default journal half of one run's pace
 * (measured on a slow disk; on a quick disk both differences drown in noise).
 */
const sqlitePragmas = { journal_mode: 'wal', synchronous: 'normal' };

export interface DevArguments {
  dbPath: string;
  port: number;
  uiPort: number;
  namespace: string;
  dynamicConfig: DynamicConfig;
}

/** The command line of the embedded server. */
export function devServerArguments(options: DevArguments): string[] {
  const settings = { ...dynamicConfig, ...options.dynamicConfig };
  return [
    ...['server', 'start-dev'],
    ...['--ip', '127.0.0.1', '--port', String(options.port), '--ui-port', String(options.uiPort)],
    ...['--db-filename', options.dbPath],
    ...['--namespace', options.namespace],
    // A person's own environment or profile must not reach the embedded server.
    ...['--disable-config-file', '--disable-config-env', '--color', 'never'],
    ...Object.entries(sqlitePragmas).flatMap(([name, value]) => ['--sqlite-pragma', `${name}=${value}`]),
    ...Object.entries(settings).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
    ...Object.values(searchAttributeKeys).flatMap((key) => ['--search-attribute', `${key.name}=${cliTypeName(key)}`]),
  ];
}
