import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { DeterminismViolationError } from '@temporalio/workflow';
import { Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleWorkflows, workflowSources } from '../support/workflow-bundle.js';
import '../support/quiet-runtime.js';

interface RecordedEvent {
  eventId: string;
  eventType: string;
  activityTaskScheduledEventAttributes?: { activityId: string; activityType: { name: string } };
}
interface RecordedHistory {
  events: RecordedEvent[];
}

const folder = fileURLToPath(new URL('./histories/', import.meta.url));
const files = readdirSync(folder).filter((name) => /\.history\.json(\.gz)?$/.test(name));

function read(file: string): RecordedHistory {
  const bytes = readFileSync(`${folder}${file}`);
  return JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()) as RecordedHistory;
}

let code: string;
beforeAll(async () => {
  code = await bundleWorkflows(workflowSources.own);
});

// Children are named after their parent.
const replay = (history: RecordedHistory) => {
  const workflowId = /"workflowId":"([^"]+)"/.exec(JSON.stringify(history.events[0]))?.[1];
  return Worker.runReplayHistory({ workflowBundle: { code } }, history, workflowId);
};

/** The first scheduled activity with that id. */
function scheduled(history: RecordedHistory, activityId: string) {
  const attributes = history.events
    .map((event) => event.activityTaskScheduledEventAttributes)
    .find((each) => each?.activityId === activityId);
  if (!attributes) throw new Error(`the history schedules no ${activityId}`);
  return attributes;
}

describe('recorded histories', () => {
  it('are there for each shape', () => {
    const shapes = new Set(files.map((name) => name.replace(/^v[\d.]+-|(-\d)?\.history\.json(\.gz)?$/g, '')));
    expect([...shapes].sort()).toEqual([
      'agent-cancelled',
      'agent-capped',
      'agent-children',
      'agent-continue-as-new',
      'agent-crowded',
      'agent-empty-turns',
      'agent-failures',
      'agent-long',
      'agent-long-in-two',
      'agent-loop',
      'agent-model-failed',
      'agent-no-progress',
      'agent-parallel-and-once',
      'agent-resumed',
      'agent-retry',
      'agent-same-answers',
      'executor-calls',
      'executor-continue-as-new',
      'executor-without-state',
    ]);
  });

  it.each(files)('%s replays', async (file) => {
    await replay(read(file));
  });
});

describe('a history that is not what the code would do', () => {
  const parallel = () => {
    const file = files.find((name) => name.includes('agent-parallel-and-once'));
    if (file === undefined) throw new Error('no recording of parallel calls');
    return read(file);
  };

  it('fails where an activity has another id', async () => {
    const history = parallel();
    scheduled(history, 'c1.0').activityId = 'c9.9';
    await expect(replay(history)).rejects.toThrow(DeterminismViolationError);
  });

  it('fails where two activities were scheduled in another order', async () => {
    const history = parallel();
    const [first, second] = [scheduled(history, 'c1.0'), scheduled(history, 'c1.1')];
    [first.activityId, second.activityId] = [second.activityId, first.activityId];
    await expect(replay(history)).rejects.toThrow(DeterminismViolationError);
  });

  it('fails where an activity is of another type', async () => {
    const history = parallel();
    scheduled(history, 'c1.0').activityType.name = 'settleCall';
    await expect(replay(history)).rejects.toThrow(DeterminismViolationError);
  });

  it('fails where an activity was never scheduled', async () => {
    const history = withoutActivity(parallel(), 'c1.2');
    expect(() => scheduled(history, 'c1.2')).toThrow();
    await expect(replay(history)).rejects.toThrow(DeterminismViolationError);
  });

  it('fails where an event is missing', async () => {
    const history = parallel();
    const gone = history.events.findIndex((event) => event.activityTaskScheduledEventAttributes?.activityId === 'c1.0');
    history.events.splice(gone, 1);
    await expect(replay(history)).rejects.toThrow('History is out of order');
  });
});

/** The history as it would be without the events of one activity, numbered anew. */
function withoutActivity(history: RecordedHistory, activityId: string): RecordedHistory {
  const isOf = (event: RecordedEvent) => event.activityTaskScheduledEventAttributes?.activityId === activityId;
  const scheduledId = history.events.find(isOf)?.eventId;
  const kept = history.events.filter(
    (event) => event.eventId !== scheduledId && !JSON.stringify(event).includes(`"scheduledEventId":"${scheduledId}"`),
  );
  const numbers = new Map(kept.map(({ eventId }, index) => [eventId, String(index + 1)]));
  return JSON.parse(JSON.stringify({ events: kept }), (key, value: unknown) =>
    typeof value === 'string' && /eventId$/i.test(key) ? (numbers.get(value) ?? value) : value,
  ) as RecordedHistory;
}
