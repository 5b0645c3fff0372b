/** R: what a run left behind as its history is what the code would do again. */
import { Worker } from '@temporalio/worker';
import type { RunEvidence } from './evidence.js';
import type { Violation } from './laws.js';

/** The SDK's runtime ends with its last worker, and must not while another is made: replays go one after another. */
let before: Promise<unknown> = Promise.resolve();

/** Replays every execution of the runs, and of their agents' runs, with the bundled workflows of that file. */
export function checkReplays(runs: RunEvidence[], bundlePath: string): Promise<Violation[]> {
  const found = before.then(() => replay(runs, bundlePath));
  before = found.catch(() => undefined);
  return found;
}

async function replay(runs: RunEvidence[], bundlePath: string): Promise<Violation[]> {
  const all = runs.flatMap(withChildren);
  const histories = all.flatMap(({ workflowId, executions }) =>
    executions.map(({ history }) => ({ workflowId, history })),
  );
  const results = Worker.runReplayHistories({ workflowBundle: { codePath: bundlePath } }, histories);
  const found: Violation[] = [];
  for await (const { workflowId, error } of results) {
    if (error) found.push({ law: 'R', workflowId, what: `its history does not replay: ${error.message}` });
  }
  return found;
}

function withChildren(run: RunEvidence): RunEvidence[] {
  return [run, ...run.children.flatMap(withChildren)];
}
