import { at, didYouMean, shown } from '../config/check-options.js';
import { ConfigError } from '../config/config-error.js';
import type { Tool } from '../tools/tool.js';
import type { Fault, FaultPlan } from './fault.js';
import { parseFaults, readFault } from './parse-fault.js';

export interface FaultSources {
  /** The configuration's `faults`. */
  option: unknown;
  /** The configuration's `production`. */
  production: boolean;
  tools: readonly Tool[];
  env: Readonly<Record<string, string | undefined>>;
  /** Draws a seed where `PERDURE_FAULTS_SEED` gives none. */
  drawSeed: () => number;
}

/**
 * The faults that `PERDURE_FAULTS` and the configuration ask for together, those of the environment first; `undefined`
 * where neither does. Throws `ConfigError` for a mistake in them, for a tool that is not there, and wherever the
 * configuration or `PERDURE_ENV` says production: there no fault is ever injected.
 */
export function resolveFaults(sources: FaultSources): FaultPlan | undefined {
  const { env, tools } = sources;
  const placed = [...placedFaults('PERDURE_FAULTS', env['PERDURE_FAULTS']), ...placedOptions(sources.option)];
  const [first] = placed;
  if (!first) return undefined;
  if (sources.production || env['PERDURE_ENV'] === 'production') {
    const why = sources.production ? 'the configuration says production: true' : 'PERDURE_ENV is production';
    throw new ConfigError(
      first.path,
      `faults are never injected in production (${why}); unset PERDURE_FAULTS and leave out \`faults\``,
    );
  }
  for (const { path, fault } of placed) checkToolIsThere(path, fault, tools);
  return { faults: placed.map(({ fault }) => fault), seed: readSeed(env['PERDURE_FAULTS_SEED']) ?? sources.drawSeed() };
}

interface PlacedFault {
  path: string;
  fault: Fault;
}

function placedFaults(path: string, text: string | undefined): PlacedFault[] {
  // An empty variable is how shells unset one.
  if (text === undefined || text.trim() === '') return [];
  return parseFaults(path, text).map((fault, index) => ({ path: at(path, index), fault }));
}

function placedOptions(option: unknown): PlacedFault[] {
  if (option === undefined) return [];
  if (!Array.isArray(option)) {
    throw new ConfigError('faults', `expected a list such as ['charge:timeout@3'], got ${shown(option)}`);
  }
  return option.map((item: unknown, index) => {
    const path = at('faults', index);
    return { path, fault: readFault(path, item) };
  });
}

function checkToolIsThere(path: string, fault: Fault, tools: readonly Tool[]): void {
  if (fault.tool === '*') return;
  const names = tools.filter(({ agent }) => !agent).map(({ definition }) => definition.name);
  if (names.includes(fault.tool)) return;
  const there = names.length === 0 ? 'there are no tools' : `the tools are ${names.join(', ')}`;
  throw new ConfigError(path, `no tool has the name ${shown(fault.tool)}${didYouMean(fault.tool, names)}; ${there}`);
}

function readSeed(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const seed = Number(text);
  if (/^\d+$/.test(text.trim()) && seed <= 0xffffffff) return seed;
  throw new ConfigError('PERDURE_FAULTS_SEED', `expected a whole number from 0 to 4294967295, got ${shown(text)}`);
}
