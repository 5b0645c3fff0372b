/** docs/failures.md, made from the failure table so that the two cannot disagree. */
import type { FailureClass, FailureFamily } from '../contract/failure.js';
import type { Outcome } from '../contract/call.js';
import { failureClasses, failureClassNames, type FailureClassRow } from './failure-classes.js';
import { exampleFailure } from './failure-examples.js';
import { describeFailure } from './model-message.js';
import { renderOutcome } from './render-outcome.js';
import { maxAttemptsOf } from './retry-rule.js';

const families: Record<FailureFamily, string> = {
  schema: 'the arguments; the model corrects them',
  business: 'a rule, a right or a limit on the other side; another way is needed',
  network: 'the way to the service, or the service itself; may pass',
  internal: 'the tool or its set-up; a person has to look',
  safety: 'a guard, a person, or the rule that nothing happens twice',
  loop: "the run's own defences",
};

/** What holds for every class. */
const aroundTheTable = [
  '## What a tool can add',
  '',
  '- `throw new ToolError({ class, effect, publicMessage, hint, alternatives, retryAfterMs })` says exactly what happened. `effect` is `unknown` unless the tool says otherwise.',
  '- `isFailure(result)` makes a failure of a result that is really a refusal.',
  "- `messages: { not_found: { message, suggestedAction } }` replaces the model's texts of a class, in the tool's own language. `{tool}`, `{reason}`, `{attempts}` and the other names of src/policy/failure-words.ts are filled in.",
  "- `alternatives: ['search_cached']` of a tool, and `equivalents: [['search_web', 'search_cached']]` of the configuration, name tools that may serve instead. The model is offered them; they are never used silently. A name that no tool has is a `ConfigError`.",
  '- `suggest(input, failure)` adds a hint (other arguments, another strategy) and alternatives to one failure.',
  "- `failureOutput: 'verbatim'` is for compilers and test runners: their output is the message, whole up to 25,000 tokens, with `kind: compile | dependency | test`.",
  '- `ctx.bestEffort(name, run)` logs the failure of a side matter and leaves the outcome alone.',
  '',
  '## How the model is told',
  '',
  '1. Each call gets one tool message, as shown below. A long reason is cut, head and tail kept; `truncated.artifact_id` then names the whole for `read_artifact`.',
  '2. After three failures in a row of a tool the system message points at it, once until the tool succeeds.',
  "3. `failureDigest(outcomes)` lists all failures so far in a few lines, for wherever a context is shortened. It is exported, like `renderOutcome` and the system text `failureProtocol`, for people's own loops (`perdure`, `perdure/workflow`).",
  '',
  'Operators read [the log](operator-log.md), or `perdure show RUN --call c3.1`.',
  '',
];

/** The whole page, in Markdown. */
export function failureTableMarkdown(): string {
  return [
    '# Failures',
    '',
    '<!-- Made from src/policy/failure-classes.ts by scripts/write-docs.ts. Change the table, not this page. -->',
    '',
    'Every failed call ends in exactly one of these classes. The class decides whether the executor tries again, what the model is told, and what the operator should look at.',
    '',
    'A body is started again only if the class has an attempt left, **and** running it again cannot be a second effect (the tool is `read` or `idempotent`, or the attempt provably left nothing behind), **and** the wait fits the call\'s time budget. "By the time budget" means: as often as that budget covers. An override per tool (`retry`) changes the numbers and the owner, never the safety rule.',
    '',
    '| family | what it concerns |',
    '| --- | --- |',
    ...Object.entries(families).map(([family, concerns]) => `| ${family} | ${concerns} |`),
    '',
    '| class | family | code | effect state | attempts | status | retryable | breaker |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...failureClassNames.map(tableRow),
    '',
    '`retryable` is what the model reads: whether the unchanged call may succeed later. Under `breaker`, `counts` opens the breaker and blows the fuse, `fuse` blows the fuse only.',
    '',
    ...aroundTheTable,
    ...failureClassNames.flatMap(section),
  ].join('\n');
}

function tableRow(failureClass: FailureClass): string {
  const row = failureClasses[failureClass];
  const cells = [
    `[\`${failureClass}\`](#${failureClass})`,
    row.family,
    `\`${row.code}\``,
    row.effectNote ?? row.effectState,
    attempts(row),
    row.status,
    row.retryable ? 'yes' : 'no',
    row.breaker ?? '',
  ];
  return `| ${cells.join(' | ')} |`;
}

function attempts(row: FailureClassRow): string {
  if (row.neverAgain) return 'never again';
  const base = row.maxAttempts === 'budget' ? 'by the time budget' : String(row.maxAttempts);
  const notes = [
    row.maxAttemptsEventually === undefined
      ? ''
      : `${String(row.maxAttemptsEventually)} where the tool says \`eventuallyConsistent\``,
    row.maxAttemptsTimedOutBefore === undefined
      ? ''
      : `${String(row.maxAttemptsTimedOutBefore)} where equal arguments timed out before while other calls of the tool succeed`,
    row.onceMoreAfterRefresh ? "one more after the tool's `refresh`" : '',
    row.needsKnownWait ? 'only where the wait is known' : '',
  ].filter((note) => note !== '');
  return [base, ...notes].join('; ');
}

function section(failureClass: FailureClass): string[] {
  const row = failureClasses[failureClass];
  const codes = Object.entries(row.moreCodes ?? {}).map(([code, when]) => ` \`${code}\` where ${when}.`);
  const waits =
    row.neverAgain || row.maxAttempts === 1
      ? ''
      : ` Waits: up to ${seconds(row.backOff.baseDelayMs)} at first, doubled up to ${seconds(row.backOff.maxDelayMs)}, and at least what the service asks for.`;
  return [
    `## ${failureClass}`,
    '',
    row.words.meaning,
    '',
    `- **Code**: \`${row.code}\`.${codes.join('')}`,
    `- **Comes from**: ${row.comesFrom}.`,
    `- **Effect state**: ${row.effectNote ?? row.effectState}.`,
    `- **Attempts**: ${attempts(row)}.${waits}`,
    ...(row.losesAnswer
      ? ['- **For a `once` tool**: becomes [`outcome_unknown`](#outcome_unknown) while the effect state is unknown.']
      : []),
    ...(row.actionRequired ? [`- **Action required**: \`${row.actionRequired}\`.`] : []),
    `- **The operator**: ${row.words.operator}`,
    '',
    'What the model sees, for example:',
    '',
    '```json',
    JSON.stringify(JSON.parse(exampleMessage(failureClass)), null, 2),
    '```',
    '',
  ];
}

function seconds(ms: number): string {
  return `${String(ms / 1000)} s`;
}

/** A class's example as the model reads it, on one line. */
export function exampleMessage(failureClass: FailureClass): string {
  const { failure, tool, attempts: starts, elapsedMs, offeredTools } = exampleFailure(failureClass);
  const described = describeFailure(failure, {
    tool,
    toolName: tool?.name ?? 'refund_paymnt',
    attempts: starts,
    checkTool: 'get_payment',
    offeredTools,
  });
  const outcome: Outcome = {
    status: failureClasses[failureClass].status,
    callId: 'c3.1',
    tool: tool?.name ?? 'refund_paymnt',
    key: '',
    attempts: starts,
    elapsedMs,
    failure: described,
  };
  const maxAttempts = tool ? maxAttemptsOf({ failure, policy: tool.policy }) : 1;
  return renderOutcome(outcome, { maxAttempts });
}
