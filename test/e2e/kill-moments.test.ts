/**
 * Kills with SIGKILL in the demo: at chosen moments, and at random ones whose seed is printed and taken from
 * PERDURE_SEED. What no kill may change is expected in `runWithKills`.
 */
import { createHash, randomInt } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { noFaults } from '../../examples/shop/backend/faults.js';
import type { Kill } from '../../examples/shop/demo/kills.js';
import { afterStep, justBeforeTheEnd, rightAfterStart, whileRetryWaits } from './kills/moments.js';
import { runWithKills, type Aftermath } from './kills/run-with-kills.js';
import { ScriptedProvider } from './kills/scripted-provider.js';

const once = {
  'order_cancelled 1042': 1,
  'return_opened 1038': 1,
  'payment_refunded 1042': 1,
  'payment_refunded 1038': 1,
  'label_printed 1038': 1,
  'message_sent cus_301': 1,
};

/** Long enough for several deaths, of 2 s each by the demo's heartbeat timeout, besides the demo's own 15 s. */
const timeoutMs = 110_000;

const worker = { what: 'worker' } as const;

it(
  'goes on where it was when its worker dies between calls',
  async () => {
    await using provider = await ScriptedProvider.start();
    setEnvironment({ OPENAI_BASE_URL: provider.baseUrl, OPENAI_API_KEY: 'none' });
    const aftermath = await runWithKills({
      model: 'openai-compatible:demo',
      kills: [
        { ...worker, ...rightAfterStart },
        { ...worker, ...whileRetryWaits('find_customer') },
        { ...worker, words: 'the model was answering', reached: () => provider.stall(2) },
        { ...worker, ...afterStep(4) },
        { ...worker, ...justBeforeTheEnd },
      ],
    });
    expect(aftermath.effects).toEqual(once);
    // An answer that was stored is not asked for again; the one that was cut off has to be.
    const asked = [...provider.asked];
    expect(asked.filter(([, times]) => times > 1)).toEqual([[2, 2]]);
    expect(asked).toHaveLength(11);
  },
  timeoutMs,
);

it(
  'asks again for what may be asked twice, and never for a label, when its worker dies before a commit',
  async () => {
    const aftermath = await runWithKills({
      faults: noFaults,
      kills: [
        { ...worker, operation: 'cancel_order', moment: 'before_commit' },
        { ...worker, operation: 'refund_payment', moment: 'before_commit' },
        { ...worker, operation: 'print_label', moment: 'before_commit' },
      ],
    });
    // Nobody can tell that it was not printed: it might still come out of the printer.
    expect(aftermath.effects).toEqual({ ...once, 'label_printed 1038': 0 });
    expect(aftermath.outcomesOf('print_return_label')).toMatchObject([
      { status: 'failed', attempts: 1, failure: { class: 'outcome_unknown', effectState: 'unknown' } },
    ]);
    expect(aftermath.answer).toContain('A colleague will send you the return label.');
    expectLostStarts(aftermath);
  },
  timeoutMs,
);

it(
  'finds out what was done when its worker dies after a commit, and again while it asks',
  async () => {
    const aftermath = await runWithKills({
      faults: noFaults,
      kills: [
        { ...worker, operation: 'open_return', moment: 'after_commit' },
        { ...worker, operation: 'refund_payment', moment: 'after_commit' },
        { ...worker, operation: 'print_label', moment: 'after_commit' },
        // The next worker looks for the label instead of printing one.
        { ...worker, operation: 'list_labels', moment: 'before_commit' },
        { ...worker, operation: 'send_message', moment: 'after_commit' },
      ],
    });
    expect(aftermath.effects).toEqual(once);
    expect(aftermath.outcomesOf('print_return_label')).toMatchObject([{ status: 'succeeded', attempts: 1 }]);
    expect(aftermath.answer).toContain('its tracking code is RL000001EU');
    expectLostStarts(aftermath);
  },
  timeoutMs,
);

it(
  'goes on when workers die at random moments, and then the server with a result on its way',
  async () => {
    const seed = process.env['PERDURE_SEED'] ?? String(randomInt(1_000_000));
    console.log(`random kills: PERDURE_SEED=${seed}`);
    const kills: Kill[] = [
      ...[1, 2, 3].map((index) => ({ ...worker, afterMs: randomMs(seed, index) })),
      { what: 'server', operation: 'refund_payment', moment: 'after_commit' },
    ];
    // The label is printed, its answer is lost, and when perdure asks for it, nobody answers.
    const aftermath = await runWithKills({ kills, faults: { unavailableLabelLookups: 1 } });
    expect(aftermath.effects, `PERDURE_SEED=${seed}`).toEqual(once);
    expect(aftermath.answer).toContain('its tracking code is RL000001EU');
  },
  timeoutMs,
);

/** Starts that were lost are told as those of the workers that were killed, which lived until shortly before. */
function expectLostStarts({ callsOf, killedWorkers, lines }: Aftermath): void {
  const tools = ['cancel_order', 'request_return', 'refund_payment', 'print_return_label', 'send_message'];
  const lost = tools
    .flatMap(callsOf)
    .flatMap(({ attempts }) => attempts)
    .filter(({ failure }) => failure?.['decision'] === 'worker_lost');
  expect(lost.length, lines.join('\n')).toBeGreaterThanOrEqual(3);
  for (const { worker: owner, startedAtMs, endedAtMs = 0, failure } of lost) {
    expect(killedWorkers).toContain(owner);
    expect(failure).toMatchObject({ worker: owner, duration_ms: endedAtMs - startedAtMs });
    // The lease of 2 s is what a worker is known to live.
    expect(endedAtMs - startedAtMs).toBeGreaterThan(0);
    expect(endedAtMs - startedAtMs).toBeLessThan(10_000);
  }
}

/** Up to 2.5 s: workers that are just starting are among those hit, and the refunds are always still to come. */
function randomMs(seed: string, index: number): number {
  const share = createHash('sha256').update(`${seed}:${index}`).digest().readUInt32BE() / 2 ** 32;
  return Math.round(share * 2_500);
}

/** For the demo's processes, until the test ends. */
function setEnvironment(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    process.env[name] = value;
    onTestFinished(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}
