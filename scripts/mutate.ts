/**
 * Breaks the failure table, the statuses and the retry rule in turn, one small change at a time, and shows that some test
 * fails each time: `npm run mutate`. Works on copies in a temporary folder; prints what survives and ends with 1 if anything
 * did. A change whose text is no longer found is an error, so that the list stays true.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failureClasses, failureClassNames } from '../src/policy/failure-classes.js';

interface Mutant {
  name: string;
  /** A statement that runs before the tests, with `failureClasses` in scope. */
  setup?: string;
  /** A change of one source file. */
  edit?: { file: string; from: string; to: string };
  tests: string[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const tableTests = ['test/policy/failure-classes.test.ts', 'test/policy/retry-rule.test.ts'];

/** Every decision of every row, changed to another value. */
function tableMutants(): Mutant[] {
  return failureClassNames.flatMap((failureClass) => {
    const row = failureClasses[failureClass];
    const changes: Record<string, unknown> = {
      code: `${row.code}X`,
      family: row.family === 'loop' ? 'schema' : 'loop',
      effectState: row.effectState === 'none' ? 'unknown' : 'none',
      maxAttempts: row.maxAttempts === 'budget' ? 1 : row.maxAttempts + 1,
      status: row.status === 'failed' ? 'aborted' : 'failed',
      retryable: !row.retryable,
      breaker: row.breaker === 'counts' ? 'fuse' : 'counts',
      losesAnswer: row.losesAnswer ? undefined : true,
      neverAgain: row.neverAgain ? undefined : true,
      actionRequired: row.actionRequired === undefined ? 'stop' : undefined,
      ...(row.onceMoreAfterRefresh && { onceMoreAfterRefresh: undefined }),
      ...(row.needsKnownWait && { needsKnownWait: undefined }),
      ...(row.maxAttemptsEventually && { maxAttemptsEventually: row.maxAttempts }),
      ...(row.maxAttemptsTimedOutBefore && { maxAttemptsTimedOutBefore: row.maxAttempts }),
    };
    // Where a class is never run again, the number of its attempts decides nothing.
    if (row.neverAgain) delete changes['maxAttempts'];
    return Object.entries(changes).map(([field, value]) => ({
      name: `${failureClass}.${field}: ${String(value)}`,
      setup: `failureClasses.${failureClass}.${field} = ${JSON.stringify(value) ?? 'undefined'} as never;`,
      tests: tableTests,
    }));
  });
}

/** Every status that is listed, taken out of the list. */
function statusMutants(): Mutant[] {
  const file = 'src/policy/http-status.ts';
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  return lines
    .filter((line) => /^ {2}\d{3}: '\w+',/.test(line))
    .map((line) => ({
      name: `status ${line.trim()}`,
      edit: { file, from: line, to: line.replace(/'\w+'/, "'tool_bug'") },
      tests: ['test/policy/classify-http.test.ts'],
    }));
}

/** Every condition of the retry rule, taken out or turned round. */
const ruleEdits: [from: string, to: string][] = [
  ["if (question.cancelled) return refuse('cancelled');", ''],
  ["if (row.neverAgain) return refuse('final_class');", ''],
  ["if (override?.owner === 'never') return refuse('owner_never');", ''],
  ["if (override?.owner === 'model') return refuse('left_to_model');", ''],
  ["if (failure.shouldRetry === false) return refuse('told_not_to');", ''],
  ['row.onceMoreAfterRefresh === true && policy.refreshes', 'row.onceMoreAfterRefresh === true'],
  ['policy.refreshes && question.refreshed !== true', 'policy.refreshes'],
  ['const MAX_STARTS_WITH_REFRESH = 4', 'const MAX_STARTS_WITH_REFRESH = 5'],
  ["if (starts >= mostStarts) return refuse('attempts_spent');", ''],
  ['if (starts >= mostStarts)', 'if (starts > mostStarts)'],
  ['if (row.needsKnownWait && failure.retryAfterMs === undefined)', 'if (false)'],
  ["if (!isSafeAgain(question, delayMs ?? 0)) return refuse('effect_unsafe');", ''],
  ["if (delayMs === undefined) return refuse('budget_spent');", 'if (delayMs === undefined) return refuse();'],
  ["if (question.retryToken === false) return refuse('no_retry_token');", ''],
  ['if (configured !== undefined) return configured;', ''],
  ['row.maxAttemptsTimedOutBefore !== undefined && question.timedOutBefore', 'false'],
  ['row.maxAttemptsEventually !== undefined && policy.eventuallyConsistent', 'false'],
  ["if (row.maxAttempts === 'budget') return Infinity;", "if (row.maxAttempts === 'budget') return 3;"],
  ['if (failure.shouldRetry === true)', 'if (false)'],
  ['const TOLD_TO_RETRY_ATTEMPTS = 3', 'const TOLD_TO_RETRY_ATTEMPTS = 4'],
  ['override?.baseDelayMs ?? row.backOff.baseDelayMs', 'row.backOff.baseDelayMs'],
  ['override?.maxDelayMs ?? row.backOff.maxDelayMs', 'row.backOff.maxDelayMs'],
  ['const asked = failure.retryAfterMs ?? 0', 'const asked = 0'],
  ['const leastMs = asked > 0 ? asked : 1', 'const leastMs = asked'],
  ['policy.budgetMs - spentMs - Math.min', 'policy.budgetMs - Math.min'],
  [' - Math.min(LEAST_RUN_MS, policy.timeoutMs * LEAST_RUN_SHARE)', ''],
  ['if (!(leastMs <= roomMs)) return undefined;', ''],
  ['Math.min(maxMs, baseMs * 2 ** Math.max(0, starts - 1))', 'baseMs * 2 ** Math.max(0, starts - 1)'],
  ['2 ** Math.max(0, starts - 1)', '2 ** starts'],
  ['random * Math.min(maxMs', '0.9 * Math.min(maxMs'],
  ['Math.min(Math.max(leastMs, asked + jitterMs), Math.floor(roomMs))', 'Math.max(leastMs, asked + jitterMs)'],
  ["if (failure.effectState === 'none' && !mayHaveHappened) return true;", ''],
  ["failure.effectState === 'none' && !mayHaveHappened", "failure.effectState === 'none'"],
  ["failure.effectState === 'none' && !mayHaveHappened", "failure.effectState !== 'unknown' && !mayHaveHappened"],
  ['nowMs: question.nowMs + delayMs', 'nowMs: question.nowMs'],
  ["if (effect.kind === 'once') return true;", "if (effect.kind === 'once') return false;"],
  [
    "if (effect.kind !== 'idempotent' || effect.by !== 'key') return false;",
    "if (effect.kind !== 'idempotent' || effect.by !== 'key') return true;",
  ],
  ['>= effect.keyTtlMs', '> effect.keyTtlMs'],
  ['>= effect.keyTtlMs', '>= Infinity'],
  ["if (former === 'unknown' && actsOnce(policy.effect, found))", 'if (actsOnce(policy.effect, found))'],
  ["if (former === 'unknown' && actsOnce(policy.effect, found)) return { run: false, because: 'reconcile' };", ''],
  ['if (lost && starts >= lostAttempts)', 'if (starts >= lostAttempts)'],
  ['if (lost && starts >= lostAttempts)', 'if (lost && starts > lostAttempts)'],
  ['spentMs >= policy.budgetMs)', 'spentMs > policy.budgetMs)'],
  ["if (call.effect.kind === 'read') return", 'if (false) return'],
  ["failure.effectState === 'none' && call.mayHaveHappened ? 'unknown'", "false ? 'unknown'"],
  ["effectState !== 'unknown' || !losesAnswer", '!losesAnswer'],
  ['|| !losesAnswer(failure.class)', ''],
  [' || !actsOnce(call.effect, call)', ''],
];
const ruleMutants: Mutant[] = ruleEdits.map(([from, to]) => ({
  name: `${from}  →  ${to === '' ? '(nothing)' : to}`,
  edit: { file: 'src/policy/retry-rule.ts', from, to },
  tests: ['test/policy/retry-rule.test.ts'],
}));

/** A copy of what the tests need, with a set-up file that a mutant may fill. */
function makeCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-mutate-'));
  for (const part of ['src', 'test/policy', 'test/cases', 'tsconfig.json', 'package.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'mutant.ts'), '');
  const config =
    "export default { test: { setupFiles: ['./mutant.ts'], include: ['test/**/*.test.ts'], pool: 'threads' } };\n";
  writeFileSync(join(folder, 'vitest.config.ts'), config);
  return folder;
}

function passes(folder: string, tests: string[]): Promise<boolean> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [vitest, 'run', '--bail=1', ...tests], { cwd: folder, stdio: 'ignore' });
    child.once('error', reject);
    child.once('exit', (code) => {
      resolve(code === 0);
    });
  });
}

/** True where the tests still pass with the mutant in place. */
async function survives(folder: string, mutant: Mutant): Promise<boolean> {
  const setup = `import { failureClasses } from './src/policy/failure-classes.js';\n${mutant.setup ?? ''}\n`;
  writeFileSync(join(folder, 'mutant.ts'), mutant.setup === undefined ? '' : setup);
  if (!mutant.edit) return passes(folder, mutant.tests);
  const path = join(folder, mutant.edit.file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(mutant.edit.from)) throw new Error(`${mutant.edit.file} no longer holds: ${mutant.edit.from}`);
  writeFileSync(
    path,
    source.replace(mutant.edit.from, () => mutant.edit?.to ?? ''),
  );
  try {
    return await passes(folder, mutant.tests);
  } finally {
    writeFileSync(path, source);
  }
}

const mutants = [...tableMutants(), ...statusMutants(), ...ruleMutants];
const queue = [...mutants];
const survivors: string[] = [];
const copies = Array.from({ length: Math.min(2, availableParallelism()) }, makeCopy);
try {
  const allTests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
  if (!(await passes(copies[0] ?? root, allTests))) throw new Error('the tests fail without any mutant');
  await Promise.all(
    copies.map(async (folder) => {
      for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
        if (await survives(folder, mutant)) survivors.push(mutant.name);
      }
    }),
  );
} finally {
  for (const folder of copies) rmSync(folder, { recursive: true, force: true });
}
for (const name of survivors) console.log(`survived: ${name}`);
console.log(`${String(mutants.length - survivors.length)} of ${String(mutants.length)} mutants made a test fail`);
process.exitCode = survivors.length === 0 ? 0 : 1;
