import { withoutControls } from './clean-text.js';
import { cutToBytes } from '../policy/cut-text.js';
import type { Truncated } from './shape-for-model.js';
import { bytesPerToken } from './tokens.js';

/** What a failing build or test run failed at. */
export type FailureOutputKind = 'compile' | 'dependency' | 'test';

/** The most of a failure's output that reaches a model: Claude Code's documented limit for one tool's output. */
export const verbatimTokens = 25_000;

/**
 * The output of a tool whose failure is its output (`failureOutput: 'verbatim'`), whole up to `maxTokens`: only control
 * characters go. Longer output keeps head and tail; `truncated` then names the whole, where it is stored.
 */
export function shapeFailureOutput(
  output: string,
  options: { maxTokens?: number; artifactId?: string } = {},
): { text: string; kind?: FailureOutputKind; truncated?: Truncated } {
  const clean = withoutControls(output);
  const kind = kindOfOutput(clean);
  const maxBytes = (options.maxTokens ?? verbatimTokens) * bytesPerToken;
  const { text, shown, total } = cutToBytes(clean, maxBytes);
  const { artifactId } = options;
  return {
    text,
    ...(kind ? { kind } : {}),
    ...(shown < total && artifactId !== undefined ? { truncated: { shown, total, artifact_id: artifactId } } : {}),
  };
}

/**
 * In this order, because a missing package makes compilers and test runners fail, and code that does not compile makes
 * test runners fail. Spellings are those of npm, pip, Go, Cargo, tsc, javac, gcc, rustc, Python, vitest, jest, pytest,
 * JUnit and TAP.
 */
const kinds: [FailureOutputKind, RegExp[]][] = [
  [
    'dependency',
    [
      /Cannot find (?:module|package) ['"](?![./])/,
      /ModuleNotFoundError|No module named /,
      /Failed to resolve (?:import|entry)|Module not found: /,
      /npm (?:ERR!|error) (?:code )?(?:E404|ERESOLVE|ETARGET|ENOTFOUND|EINTEGRITY)/,
      /No matching distribution found|ResolutionImpossible/,
      /no required module provides package|cannot find module providing package|missing go\.sum entry/,
      /failed to select a version for|no matching package named|can't find crate for/,
      /Could not resolve dependencies|package [\w.]+ does not exist/,
    ],
  ],
  [
    'compile',
    [
      /error TS\d+:/,
      /^error(?:\[E\d+\])?: /m,
      /^\S+:\d+(?::\d+)?: (?:fatal )?error:/m,
      /^\S+\.go:\d+:\d+: /m,
      /\bSyntaxError: |\bIndentationError: |Unexpected token/,
      /undefined reference to|cannot find symbol|COMPILATION ERROR|Compilation failed|could not compile/,
    ],
  ],
  [
    'test',
    [
      /^[ \t]*(?:Tests?|Test Files|Test Suites):?[ \t]+.*\b[1-9]\d* failed/m,
      /\b[1-9]\d* (?:failed|failing|failures?)\b/,
      /^(?:--- FAIL|FAIL\b|FAILED\b|not ok \d+)/m,
      /\bAssertionError\b|assertion failed|Failures: [1-9]/,
    ],
  ],
];

/** By rule and not by a model; `undefined` where no rule fits. */
export function kindOfOutput(output: string): FailureOutputKind | undefined {
  return kinds.find(([, patterns]) => patterns.some((pattern) => pattern.test(output)))?.[0];
}
