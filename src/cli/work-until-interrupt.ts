import { exitCodes } from './exit-code.js';
import type { OpenWorkerOptions, Platform, RunningWorker } from './platform.js';
import { makeStyle } from './render/style.js';

/** Runs a worker, and with `embed` the embedded server where there is no other, until Ctrl-C. */
export async function workUntilInterrupt(platform: Platform, options: OpenWorkerOptions): Promise<number> {
  let wake = (): void => undefined;
  const interrupted = new Promise<void>((resolve) => (wake = resolve));
  // From the very start: an embedded server must not be left behind by an early Ctrl-C.
  const release = platform.onInterrupt(wake);
  try {
    const worker = await platform.openWorker(options);
    try {
      platform.err.write(`${links(worker, platform).join('\n')}\n`);
      await Promise.race([interrupted, worker.broken]);
      platform.err.write('Stopping: calls under way may end first.\n');
    } finally {
      await worker.stop();
    }
    return exitCodes.done;
  } finally {
    release();
  }
}

function links(worker: RunningWorker, platform: Platform): string[] {
  const { colour, columns } = platform.err;
  const { colours } = makeStyle({ colour, columns, nowMs: platform.nowMs() });
  const { server } = worker;
  const origin = server.startedHere ? 'started here, state in .perdure/' : server.source;
  const rows: [string, string | undefined][] = [
    ['server', `${server.address} (${origin})`],
    ['Temporal UI', server.uiUrl],
    ['worker', `task queue ${worker.taskQueue}, namespace ${server.namespace}`],
    ['tools', worker.tools.length === 0 ? 'none yet' : worker.tools.join(', ')],
    ['model', worker.model ?? 'none: give --model to perdure run, or set model in perdure.config.ts'],
    ['health', worker.healthUrl && `${worker.healthUrl}/readyz`],
    ['metrics', worker.metricsUrl],
    ['configuration', worker.configPath],
    ['log', worker.logPath],
  ];
  const facts = rows.flatMap(([label, value]) =>
    value === undefined ? [] : [`${colours.dim(label.padEnd(14))} ${value}`],
  );
  return [
    ...facts,
    '',
    'Next, in another terminal: perdure run "what the agent is to do"',
    colours.dim('Ctrl-C stops.'),
  ];
}
