import { readFileSync } from 'node:fs';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';
import { ConfigError } from '../config/config-error.js';

// A CommonJS package whose names an ES module import does not see.
const { EventType } = proto.temporal.api.enums.v1;

export type History = temporal.api.history.v1.IHistory;
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** One execution of a workflow with its history; a run that continued as new has several. */
export interface RecordedExecution {
  /** Workflow id; the file's name where a file holds the history. */
  id: string;
  /** Temporal's own run id; `''` where the history does not say. */
  executionId: string;
  workflowType: string;
  history: History;
}

/** Ends of a workflow, as the last event of a closed execution has them. */
const CLOSING = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
]);

export function eventsOf({ history }: Pick<RecordedExecution, 'history'>): readonly HistoryEvent[] {
  return history.events ?? [];
}

/** True where nothing more can happen in it. */
export function isClosed(execution: Pick<RecordedExecution, 'history'>): boolean {
  return CLOSING.has(eventsOf(execution).at(-1)?.eventType ?? EventType.EVENT_TYPE_UNSPECIFIED);
}

/** The execution that a history on its own stands for. */
export function executionOf(history: History, named: { id: string; executionId?: string }): RecordedExecution {
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  return {
    id: started?.workflowId || named.id,
    executionId: named.executionId ?? started?.originalExecutionRunId ?? '',
    workflowType: started?.workflowType?.name ?? 'unknown',
    history,
  };
}

/**
 * Reads a history as the Temporal UI ("Download") and `temporal workflow show --output json` write it. Throws
 * `ConfigError` that says what the file holds instead.
 */
export function readHistoryFile(path: string): RecordedExecution {
  const parsed = parseJson(readText(path), path);
  const json = Array.isArray(parsed) ? { events: parsed as unknown[] } : parsed;
  const events = typeof json === 'object' && json !== null && 'events' in json ? json.events : undefined;
  if (!Array.isArray(events) || events.length === 0) {
    throw new ConfigError(path, 'it is no workflow history: it has no events');
  }
  const history = readEvents({ events }, path);
  if (history.events?.[0]?.workflowExecutionStartedEventAttributes === undefined) {
    throw new ConfigError(path, 'its first event is not the start of a workflow; the whole history is needed');
  }
  return executionOf(history, { id: path });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(path, `it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConfigError(path, `it is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readEvents(json: { events: unknown[] }, path: string): History {
  try {
    return historyFromJSON(json);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(
      path,
      `its events cannot be read (${reason.slice(0, 200)}); export it as raw JSON, without decoded payloads`,
    );
  }
}
