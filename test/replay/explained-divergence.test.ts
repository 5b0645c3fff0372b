import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readHistoryFile, type RecordedExecution } from '../../src/replay/recorded-execution.js';
import { type ReplayedExecution, replayExecutions } from '../../src/replay/replay-executions.js';
import { reasonIn } from '../../src/replay/replay-worker.js';
import { bundleWorkflows, workflowSources } from '../support/workflow-bundle.js';

// Every failed replay would be logged with its stack.
Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
});

const folder = fileURLToPath(new URL('./histories/', import.meta.url));
const parallel = `${folder}v0.1.0-agent-parallel-and-once-1.history.json`;

interface Json {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- what an event holds is changed at will here
  events: { eventId: string; eventType: string; [attributes: string]: any }[];
}

let code: string;
let dir: string;
beforeAll(async () => {
  code = await bundleWorkflows(workflowSources.own);
  dir = await mkdtemp(join(tmpdir(), 'perdure-divergence-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** The recorded history after a change, as if the code had done that when it was recorded. */
async function changed(change: (history: Json) => Json | void, source = parallel): Promise<RecordedExecution> {
  const history = JSON.parse(readFileSync(source, 'utf8')) as Json;
  const path = join(dir, 'changed.json');
  await writeFile(path, JSON.stringify(change(history) ?? history));
  return readHistoryFile(path);
}

async function replay(...executions: RecordedExecution[]): Promise<ReplayedExecution[]> {
  const replayed: ReplayedExecution[] = [];
  for await (const one of replayExecutions({ workflowBundle: { code } }, executions)) replayed.push(one);
  return replayed;
}

async function explained(change: (history: Json) => Json | void, source?: string) {
  const [replayed] = await replay(await changed(change, source));
  return { status: replayed?.status, ...replayed?.finding };
}

function call(history: Json, id: string) {
  return history.events.find((event) => event['activityTaskScheduledEventAttributes']?.activityId === id)!;
}

/** With a further event behind the one of that number; all numbers after it move up by one. */
function withEvent(history: Json, after: number, event: object): Json {
  const added = { ...event, eventId: 'new', eventTime: history.events[after - 1]!['eventTime'], taskId: '1' };
  return numbered({ events: [...history.events.slice(0, after), added as never, ...history.events.slice(after)] });
}

function numbered(history: Json): Json {
  const numbers = new Map(history.events.map(({ eventId }, index) => [eventId, String(index + 1)]));
  return JSON.parse(JSON.stringify(history), (key, value: unknown) =>
    typeof value === 'string' && /eventId$/i.test(key) ? (numbers.get(value) ?? value) : value,
  ) as Json;
}

describe('a history that replays', () => {
  it('is told apart from one that does not, in the same worker', async () => {
    const good = readHistoryFile(parallel);
    const bad = await changed(
      (history) => void (call(history, 'c1.0')['activityTaskScheduledEventAttributes'].activityId = 'c9.9'),
    );
    const replayed = await replay(good, bad, good);
    expect(replayed.map(({ status, events, closed }) => [status, events, closed])).toEqual([
      ['replays', 43, true],
      ['diverges', 43, true],
      ['replays', 43, true],
    ]);
  });

  it('may end anywhere, as that of an open run does', async () => {
    const [open] = await replay(await changed((history) => void history.events.splice(20)));
    expect(open).toMatchObject({ status: 'replays', closed: false, events: 20 });
  });
});

describe('the first event that does not fit', () => {
  it('is a call in the place of another: both are named with their tools', async () => {
    const finding = await explained((history) => {
      const [first, second] = [call(history, 'c1.0'), call(history, 'c1.1')];
      [first['activityTaskScheduledEventAttributes'], second['activityTaskScheduledEventAttributes']] = [
        second['activityTaskScheduledEventAttributes'],
        first['activityTaskScheduledEventAttributes'],
      ];
    });
    expect(finding).toMatchObject({
      status: 'diverges',
      eventId: 18,
      recorded: 'the call c1.1 of print_label (activity callTool, id c1.1)',
      wanted: 'the call c1.0 of look_up (activity callTool, id c1.0)',
      step: 1,
      callId: 'c1.1',
      tool: 'print_label',
    });
    expect(finding.reason).toBe(
      "Activity id of scheduled event 'c1.1' does not match activity id of activity command 'c1.0'",
    );
    expect(finding.advice?.[0]).toContain("patched('my-change')");
  });

  it('is an activity of another kind and id than the code wants', async () => {
    const finding = await explained((history) => {
      const attributes = call(history, 'c1.0')['activityTaskScheduledEventAttributes'];
      [attributes.activityId, attributes.activityType.name] = ['mail-1', 'sendMail'];
    });
    expect(finding).toMatchObject({
      eventId: 18,
      recorded: 'the activity sendMail (id mail-1)',
      wanted: 'the call c1.0 of look_up (activity callTool, id c1.0)',
      callId: 'c1.0',
      step: 1,
    });
  });

  it('is a timer that the code does not start any more', async () => {
    const timer = {
      eventType: 'EVENT_TYPE_TIMER_STARTED',
      timerStartedEventAttributes: { timerId: '1', startToFireTimeout: '5s', workflowTaskCompletedEventId: '4' },
    };
    expect(await explained((history) => withEvent(history, 4, timer))).toMatchObject({
      eventId: 5,
      recorded: 'a timer of 5 s',
      wanted: 'the start of the run (activity startRun, id 1)',
    });
  });

  it('is a patch that was removed too early, and the advice names it', async () => {
    const data = Buffer.from(JSON.stringify({ id: 'new-order', deprecated: false })).toString('base64');
    const encoding = Buffer.from('json/plain').toString('base64');
    const marker = {
      eventType: 'EVENT_TYPE_MARKER_RECORDED',
      markerRecordedEventAttributes: {
        markerName: 'core_patch',
        details: { 'patch-data': { payloads: [{ metadata: { encoding }, data }] } },
        workflowTaskCompletedEventId: '4',
      },
    };
    const finding = await explained((history) => withEvent(history, 4, marker));
    expect(finding).toMatchObject({
      eventId: 5,
      recorded: "patched('new-order')",
      wanted: "to go on without patched('new-order')",
    });
    expect(finding.advice?.[0]).toContain("Keep patched('new-order') in the code");
  });

  it('is the end of a workflow that goes on by the code of today', async () => {
    const finding = await explained((history) => {
      history.events.splice(17);
      history.events.push({
        eventId: '18',
        eventTime: history.events[16]!['eventTime'],
        eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED',
        workflowExecutionCompletedEventAttributes: { workflowTaskCompletedEventId: '17' },
      });
    });
    expect(finding).toMatchObject({
      eventId: 18,
      recorded: 'the end of the workflow',
      wanted: 'the call c1.0 of look_up (activity callTool, id c1.0)',
    });
  });

  it('is a continue-as-new that the code does not come to, or the reverse', async () => {
    const source = `${folder}v0.1.0-agent-continue-as-new-1.history.json`;
    const finding = await explained((history) => {
      const last = history.events.at(-1)!;
      const { workflowTaskCompletedEventId } = last['workflowExecutionContinuedAsNewEventAttributes'];
      delete last['workflowExecutionContinuedAsNewEventAttributes'];
      last.eventType = 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED';
      last['workflowExecutionCompletedEventAttributes'] = { workflowTaskCompletedEventId };
    }, source);
    expect(finding).toMatchObject({ recorded: 'the end of the workflow', wanted: 'a continue-as-new' });
  });

  it('tells an open run how it can go on', async () => {
    const finding = await explained((history) => {
      call(history, 'c1.0')['activityTaskScheduledEventAttributes'].activityId = 'c9.9';
      history.events.splice(20);
    });
    expect(finding.advice?.at(-1)).toMatch(/perdure retry /);
  });
});

describe('code that fails by itself', () => {
  it('because the workflow is not there any more says which to export', async () => {
    const finding = await explained((history) => {
      history.events[0]!['workflowExecutionStartedEventAttributes'].workflowType.name = 'refundOrder';
    });
    expect(finding).toMatchObject({
      status: 'broken',
      reason:
        "Failed to initialize workflow of type 'refundOrder': no such function is exported by the workflow bundle",
    });
    expect(finding.wanted).toBeUndefined();
    expect(finding.advice?.[0]).toContain('Export a workflow named refundOrder again');
  });
});

describe('a history file', () => {
  it.each([
    ['not JSON', 'nonsense', 'it is not JSON'],
    ['another JSON', '{"runs":[]}', 'it is no workflow history: it has no events'],
    [
      'a part of a history',
      '{"events":[{"eventId":"2","eventType":"EVENT_TYPE_TIMER_FIRED","timerFiredEventAttributes":{}}]}',
      'its first event is not the start',
    ],
    ['events without attributes', '{"events":[{"eventId":"1"}]}', 'its events cannot be read'],
  ])('that is %s is refused with what is wrong', async (_, text, words) => {
    const path = join(dir, 'bad.json');
    await writeFile(path, text);
    expect(() => readHistoryFile(path)).toThrow(words);
  });

  it('that is not there is named', () => {
    expect(() => readHistoryFile(join(dir, 'none.json'))).toThrow('none.json: it cannot be read (ENOENT)');
  });

  it('may be the bare list of events, with the older names of the UI', async () => {
    const history = JSON.parse(readFileSync(parallel, 'utf8')) as Json;
    const older = history.events.map((event) => ({
      ...event,
      eventType: event.eventType
        .replace('EVENT_TYPE_', '')
        .toLowerCase()
        .replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase()),
    }));
    const path = join(dir, 'older.json');
    await writeFile(path, JSON.stringify(older));
    expect(await replay(readHistoryFile(path))).toMatchObject([{ status: 'replays', events: 43 }]);
  });
});

describe("Temporal's sentence", () => {
  it('is found inside the printed structure, without its marks', () => {
    const printed =
      'Details: Failure { failure: Some(Failure { message: "[TMPRL1100] Nondeterminism error: it\\u{2019}s \\"off\\"\\n  at x", source: "" }) }';
    expect(reasonIn(printed)).toBe('it’s "off"');
  });
});
