import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import type { Json, JsonObject } from './contract/json.js';
import type { Redactor } from './policy/redaction.js';
import { JsonWalk } from './results/to-json.js';
import type { ToolLog } from './tools/tool.js';

/** Of lines that cannot be written, so many bytes are kept. What comes on top of them is lost. */
const keptBytes = 1_000_000;

/** Where log lines go. */
export interface LogDestination extends DestinationStream {
  end(): void;
}

/**
 * A file, by its path (made where there is none, with its folder), or an open descriptor. A line is written when the call
 * returns; one that cannot be, because the disk is full, waits for the next line; where nobody reads any more, it is dropped. It never throws:
 * no call may fail, and no worker end, for its log. Throws where the file cannot be opened.
 */
export function logDestination(to: string | number): LogDestination {
  const destination = pino.destination({ dest: to, sync: true, mkdir: true, maxLength: keptBytes });
  // Without a listener it would be thrown at whoever logs. There is no other place to say it.
  destination.on('error', () => undefined);
  return destination;
}

/**
 * The operator's log: one JSON line per event on standard error, so that a tool's or the CLI's standard output stays
 * clean. Level from `PERDURE_LOG_LEVEL` (`debug`, `info`, `warn`, `error`, `silent`); default `info`.
 */
export function operatorLog(options: { level?: string; destination?: DestinationStream } = {}): ToolLog {
  const level = options.level ?? process.env['PERDURE_LOG_LEVEL'] ?? 'info';
  const logger = pino({ name: 'perdure', level }, options.destination ?? logDestination(2));
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
  };
}

/**
 * The same log with every message and field masked, whoever writes the line: the executor, a tool's `ctx.log`, an error
 * that a tool threw. Fields become JSON first (an Error with its name and message), so that nothing is masked in vain.
 */
export function maskedLog(log: ToolLog, redactor: Redactor): ToolLog {
  const masked =
    (level: keyof ToolLog): ToolLog['info'] =>
    (message, fields) =>
      log[level](redactor.text(message), fields && (redactor.json(jsonFields(fields)) as JsonObject));
  return { debug: masked('debug'), info: masked('info'), warn: masked('warn'), error: masked('error') };
}

function jsonFields(fields: Record<string, unknown>): Json {
  let json: Json = {};
  new JsonWalk().toJson(fields, (converted) => (json = converted));
  return json;
}
