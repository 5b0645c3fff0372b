import { at, checkObject, didYouMean, refuseUnknownKeys, shown } from '../config/check-options.js';
import { ConfigError } from '../config/config-error.js';
import { parseDuration } from '../config/duration.js';
import { failureClassNames } from '../policy/failure-classes.js';
import type { Fault, FaultAction, FaultTiming } from './fault.js';

const plainKinds = [
  'commit-then-no-answer',
  'crash-before-effect',
  'crash-after-effect',
  'oversized',
  'garbage',
] as const;
const kindNames: readonly string[] = [...failureClassNames, ...plainKinds, 'slow'];

/**
 * Reads a list of faults as `PERDURE_FAULTS` holds it (docs/fault-injection.md):
 *
 *     faults := fault { ',' fault }
 *     fault  := tool ':' kind [ '@' when ]
 *     tool   := a tool's name | '*'
 *     kind   := a failure class | an HTTP status from 400 to 599 | 'slow(' duration ')' | 'commit-then-no-answer'
 *             | 'crash-before-effect' | 'crash-after-effect' | 'oversized' | 'garbage'
 *     when   := N (the Nth start) | N '%' (of the starts) | '*' (every start; the default)
 *
 * Throws `ConfigError` with the fault's place, what was written and what is expected.
 */
export function parseFaults(path: string, text: string): Fault[] {
  const faults = text.split(',').map((fault) => fault.trim());
  // A trailing comma is how lists grow in shells.
  if (faults.at(-1) === '') faults.pop();
  return faults.map((fault, index) => parseFault(at(path, index), fault));
}

/** Reads one fault of the configuration's `faults`. Throws `ConfigError` as `parseFaults`. */
export function readFault(path: string, option: unknown): Fault {
  if (typeof option === 'string') return parseFault(path, option.trim());
  const given = checkObject(path, option);
  refuseUnknownKeys(path, given, ['tool', 'fault', 'at']);
  const { tool, fault, at: when = '*' } = given;
  if (typeof tool !== 'string') throw new ConfigError(at(path, 'tool'), `expected a tool's name, got ${shown(tool)}`);
  if (typeof fault !== 'string' && typeof fault !== 'number') {
    throw new ConfigError(at(path, 'fault'), `expected ${expectedKinds}, got ${shown(fault)}`);
  }
  if (typeof when !== 'string' && typeof when !== 'number') {
    throw new ConfigError(at(path, 'at'), `expected ${expectedTimings}, got ${shown(when)}`);
  }
  return {
    text: `${tool}:${fault}@${when}`,
    tool: checkTool(at(path, 'tool'), tool),
    action: readAction(at(path, 'fault'), String(fault)),
    timing: readTiming(at(path, 'at'), String(when)),
  };
}

function parseFault(path: string, text: string): Fault {
  // A tool's name may hold a colon (`server:tool`), a kind never does.
  const colon = text.lastIndexOf(':');
  if (colon < 0) {
    throw new ConfigError(path, `expected tool:fault, for example 'charge:timeout@3', got ${shown(text)}`);
  }
  const [, kind = '', when = '*'] = /^([^@]*)(?:@(.*))?$/s.exec(text.slice(colon + 1)) ?? [];
  return {
    text,
    tool: checkTool(path, text.slice(0, colon).trim()),
    action: readAction(path, kind.trim()),
    timing: readTiming(path, when.trim()),
  };
}

function checkTool(path: string, tool: string): string {
  if (tool !== '') return tool;
  throw new ConfigError(path, "expected a tool's name or '*', got an empty text");
}

const expectedKinds = `a failure class, an HTTP status from 400 to 599, slow(200ms), ${plainKinds.join(', ')}`;

function readAction(path: string, kind: string): FaultAction {
  const failureClass = failureClassNames.find((name) => name === kind);
  if (failureClass) return { kind: 'class', class: failureClass };
  const plain = plainKinds.find((name) => name === kind);
  if (plain) return { kind: plain };
  const slow = /^slow\((.*)\)$/s.exec(kind);
  if (slow) return { kind: 'slow', ms: readDuration(path, slow[1] ?? '') };
  if (/^[45]\d\d$/.test(kind)) return { kind: 'http', status: Number(kind) };
  if (kind === 'slow') throw new ConfigError(path, 'slow: expected how long, for example slow(200ms)');
  throw new ConfigError(path, `expected ${expectedKinds}; got ${shown(kind)}${didYouMean(kind, kindNames)}`);
}

function readDuration(path: string, text: string): number {
  const plainNumber = /^\s*\d+\s*$/.test(text);
  return parseDuration(`${path}: slow`, plainNumber ? Number(text) : text);
}

const expectedTimings = "after @ the number of a start (1 is the first), a share such as '10%', or '*' for every start";

function readTiming(path: string, when: string): FaultTiming {
  if (when === '*') return { on: 'every' };
  const share = /^(\d+(?:\.\d+)?)%$/.exec(when);
  if (share) {
    const percent = Number(share[1]);
    if (percent > 0 && percent <= 100) return { on: 'chance', probability: percent / 100 };
  }
  if (/^[1-9]\d{0,8}$/.test(when)) return { on: 'nth', nth: Number(when) };
  throw new ConfigError(path, `expected ${expectedTimings}; got ${shown(when)}`);
}
