import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import type { ToolLog } from './tools/tool.js';

/**
 * The operator's log: one JSON line per event on standard error, so that a tool's or the CLI's standard output stays
 * clean. Level from `PERDURE_LOG_LEVEL` (`debug`, `info`, `warn`, `error`, `silent`); default `info`.
 */
export function operatorLog(options: { level?: string; destination?: DestinationStream } = {}): ToolLog {
  const level = options.level ?? process.env['PERDURE_LOG_LEVEL'] ?? 'info';
  const logger = pino({ name: 'perdure', level }, options.destination ?? pino.destination({ dest: 2, sync: true }));
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
  };
}
