/**
 * `npm start`: an agent looks after a customer of a small shop. Its worker is killed in the middle, and every effect
 * happens once all the same. Exits 0 where that is so, 1 where it is not, 130 after Ctrl-C.
 */
import { parseArgs } from 'node:util';
import { chooseModel, type ChosenModel } from './demo/choose-model.ts';
import { renderReport, section } from './demo/report.ts';
import { verdictOn } from './demo/verdict.ts';
import { StageTakenError } from './demo/stage.ts';
import { runShopDemo, task, type ShopDemoResult } from './demo/run-shop-demo.ts';
import { momentInWords } from './demo/kills.ts';
import { duration } from './demo/run-story.ts';
import { cut, styleFor, table, wrap } from './demo/text.ts';

const usage = `usage: npm start -- [--model provider:model | --model scripted] [--keep]

  --model  who does the task; default: the provider whose key is set, else a scripted model
  --keep   keep shop, server and worker running at the end, until Ctrl-C
`;

const ownTask = 'npm run shop -- run --model provider:model "What did Tom Berger order?"';

const style = styleFor(process.stdout);
const interrupt = new AbortController();

async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'number') return options;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort());
  const model = chooseModel({ named: options.model, env: process.env, isInstalled });
  print(introduction(model));
  const startedAt = performance.now();
  let exitCode: number | undefined;
  try {
    await runShopDemo({
      ...(model.name !== undefined && { model: model.name }),
      signal: interrupt.signal,
      log: (line) =>
        print(
          `${style.paint('dim', duration(performance.now() - startedAt).padStart(7))}  ${cut(line, style.columns - 9)}`,
        ),
      async beforeEnd(result) {
        print(`\n${outcome(result, options.keep)}`);
        const { ok, sentences } = verdictOn(result, { isScripted: model.name === undefined });
        print(style.paint(ok ? 'green' : 'red', wrap(sentences.join(' '), style.columns).join('\n')));
        exitCode = ok ? 0 : 1;
        if (options.keep) await interrupted();
      },
    });
  } catch (error) {
    if (error instanceof StageTakenError) {
      print(style.paint('red', wrap(error.message, style.columns).join('\n')));
      return 1;
    }
    if (!interrupt.signal.aborted) {
      print(style.paint('red', `The demo broke: ${error instanceof Error ? error.message : String(error)}`));
      return 1;
    }
    print('Stopped; nothing is left running.');
  }
  return exitCode ?? 130;
}

function readOptions(): { model: string | undefined; keep: boolean } | number {
  try {
    const { values } = parseArgs({
      options: { model: { type: 'string' }, keep: { type: 'boolean', default: false }, help: { type: 'boolean' } },
    });
    if (!values.help) return { model: values.model, keep: values.keep };
    print(usage);
    return 0;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
}

function introduction(model: ChosenModel): string {
  const who =
    model.name === undefined
      ? `scripted, because ${model.because}: its turns are written down in examples/shop/agent, and everything else ` +
        'is real. For a real model set OPENAI_API_KEY, or type npm start -- --model provider:model'
      : `${model.name}, because ${model.because}. Its provider is sent the task and what the tools return, and charges ` +
        'for it; npm start -- --model scripted does without.';
  const rows = [
    ['task', task],
    ['model', who],
  ];
  return `${section('An agent looks after a customer of a small shop', table(rows, style.columns), style)}\n`;
}

function outcome(result: ShopDemoResult, keeps: boolean): string {
  const kills = result.kills.map((kill) => `The ${kill.what} was killed when ${momentInWords(kill)}.`);
  const report = renderReport({ ...result, kills }, style);
  return [report, section('Where to look', table(places(result, keeps), style.columns), style)].join('\n\n') + '\n';
}

function places({ runId, uiUrl, logPath }: ShopDemoResult, keeps: boolean): string[][] {
  const ui = uiUrl ?? `run ${runId} in the UI of your Temporal server`;
  const restart = `${ui}\nThe demo ends its server now; npm run shop -- dev starts it again, at an address that it prints, with the run in it.`;
  return [
    ['Temporal UI', keeps || uiUrl === undefined ? ui : restart],
    ['command line', `npm run shop -- show ${runId}`],
    ['logs', logPath],
    ['your own task', keeps ? ownTask : `npm start -- --keep, and then in another terminal: ${ownTask}`],
    ['your own tools', 'README.md has an example of 20 lines; this one is examples/shop/perdure.config.ts'],
  ];
}

async function interrupted(): Promise<void> {
  print('Shop, server and worker keep running. Ctrl-C ends them.');
  await new Promise<void>((resolve) => interrupt.signal.addEventListener('abort', () => resolve(), { once: true }));
}

function isInstalled(packageName: string): boolean {
  try {
    import.meta.resolve(packageName);
    return true;
  } catch {
    return false;
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
