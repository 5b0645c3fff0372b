import { type HistoryEvent, eventsOf, type RecordedExecution } from './recorded-execution.js';
import type { ReplayProblem, ReplayWorker } from './replay-worker.js';
import { scheduledActivity, type ScheduledActivity } from './history-words.js';
import proto from '@temporalio/proto';

const { EventType } = proto.temporal.api.enums.v1;

/** Where and how a history and today's code part. */
export interface Divergence extends ReplayProblem {
  /** The first event that does not fit. */
  event: HistoryEvent;
  /** The activity that the code wants to schedule there, where it is one. */
  wanted?: ScheduledActivity;
}

/** A workflow's first task has started and could decide something. */
const SHORTEST = 3;

/** The first event that today's code would not have led to; `undefined` where the whole history replays. */
export async function findDivergence(
  worker: ReplayWorker,
  execution: RecordedExecution,
): Promise<Divergence | undefined> {
  const events = eventsOf(execution);
  const whole = await worker.replay(execution, execution.history);
  if (!whole) return undefined;
  // Replaying fails from the first event on that does not fit, so the shortest beginning that fails ends with it.
  let [fits, fails] = [SHORTEST - 1, events.length];
  let problem = whole;
  while (fails - fits > 1) {
    const middle = Math.floor((fits + fails) / 2);
    const found = await worker.replay(execution, { events: events.slice(0, middle) });
    if (found) [fails, problem] = [middle, found];
    else fits = middle;
  }
  const event = events[fails - 1];
  if (!event) throw new TypeError('findDivergence: the history has no events');
  const wanted = problem.kind === 'diverged' ? await wantedActivity(worker, execution, fails, problem) : undefined;
  return { ...problem, event, ...(wanted && { wanted }) };
}

const MISMATCH =
  /Activity (id|type) of scheduled event .* does not match activity (?:id|type) of activity command '(.*)'$/;

/**
 * The activity that the code wants where the history has something else. Temporal names either its type or its id, or
 * neither: an activity that cannot be is put in the event's place, and what is said of that one names the rest.
 */
async function wantedActivity(
  worker: ReplayWorker,
  execution: RecordedExecution,
  length: number,
  problem: ReplayProblem,
): Promise<ScheduledActivity | undefined> {
  if (!/^Activity /.test(problem.reason)) return undefined;
  const events = eventsOf(execution);
  const [before, event] = [events.slice(0, length - 1), events[length - 1]];
  const recorded = event && scheduledActivity(event);
  const guess = { type: recorded?.type ?? '', id: recorded?.id ?? '' };
  let said: string | undefined = problem.reason;
  for (let tries = 0; tries < 4; tries += 1) {
    const [, part, value] = MISMATCH.exec(said ?? '') ?? [];
    if (part === 'id') guess.id = value ?? '';
    if (part === 'type') guess.type = value ?? '';
    const probe = {
      eventId: event?.eventId,
      eventTime: event?.eventTime,
      taskId: event?.taskId,
      eventType: EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
      activityTaskScheduledEventAttributes: { activityId: guess.id, activityType: { name: guess.type } },
    };
    said = (await worker.replay(execution, { events: [...before, probe as HistoryEvent] }))?.reason;
    if (said === undefined) return guess;
    if (!MISMATCH.test(said)) return undefined;
  }
  return undefined;
}
