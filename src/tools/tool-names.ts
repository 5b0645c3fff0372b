import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { distance } from 'fastest-levenshtein';
import { ConfigError } from '../config/config-error.js';

/** A tool by the names that are its own. */
export interface NamedTool {
  name: string;
  /** The server that it comes from; absent for tools of the configuration. */
  server?: string;
}

/** Length that every provider accepts. */
export const MAX_MODEL_NAME_LENGTH = 64;
const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;
const SHORT_HASH_LENGTH = 8;

/** Whether a name can be shown to every provider as it is. */
export function isModelName(name: string): boolean {
  return LEGAL.test(name);
}

/** @throws ConfigError naming the server, for a name that no tool can have. */
export function checkToolName(tool: NamedTool): void {
  const path = tool.server === undefined ? 'tools' : `servers.${tool.server}`;
  if (typeof tool.name !== 'string' || tool.name.trim() === '') {
    throw new ConfigError(path, `${whose(tool)} has a tool with an empty name`);
  }
}

/**
 * Gives each tool the name that models are shown: `^[a-zA-Z0-9_-]{1,64}$`, no two alike. A legal name that only one tool
 * has stays as it is; of tools with the same name a local one keeps it and the others carry their server's name; what
 * still collides, was shortened or has no legal letter carries a hash of server and name. The names depend on the set of
 * tools only, never on its order, and are the same after a restart.
 *
 * @returns the tools by the name that the model is shown, in the order given.
 * @throws ConfigError for an empty name, and for two tools that have server and name in common.
 */
export function assignModelNames<T extends NamedTool>(tools: readonly T[]): Map<string, T> {
  refuseTwins(tools);
  const names = new Map<T, string>();
  const taken = new Set<string>();
  let open = [...tools];
  for (const candidateOf of [plainName, serverName]) {
    const byName = groupBy(open, candidateOf);
    const given = [...byName].flatMap(([name, group]) => {
      const winner = name === '' || taken.has(name) ? undefined : winnerOf(name, group);
      return winner ? [{ name, tool: winner }] : [];
    });
    for (const { name, tool } of given) {
      names.set(tool, name);
      taken.add(name);
    }
    open = open.filter((tool) => !names.has(tool));
  }
  // In an order of their own, so that the (theoretical) collision of two short hashes falls the same way every time.
  for (const tool of [...open].sort((a, b) => (identity(a) < identity(b) ? -1 : 1))) {
    const name = hashedName(tool, taken);
    names.set(tool, name);
    taken.add(name);
  }
  return new Map(tools.map((tool) => [names.get(tool) as string, tool]));
}

/** Of several tools that want one name: the only one, else the local one that is really called so, else none. */
function winnerOf<T extends NamedTool>(name: string, group: T[]): T | undefined {
  if (group.length === 1) return group[0];
  const exact = group.filter((tool) => tool.name === name);
  if (exact.length === 1) return exact[0];
  return exact.find((tool) => tool.server === undefined);
}

/** The tool's name with illegal characters replaced; `''` where that cannot stand for it. */
function plainName({ name }: NamedTool): string {
  const legal = sanitised(name);
  return legal.length > MAX_MODEL_NAME_LENGTH || isEmptied(legal) ? '' : legal;
}

function serverName({ name, server }: NamedTool): string {
  if (server === undefined || isEmptied(sanitised(name)) || isEmptied(sanitised(server))) return '';
  const legal = sanitised(`${server}_${name}`);
  return legal.length > MAX_MODEL_NAME_LENGTH ? '' : legal;
}

function hashedName(tool: NamedTool, taken: ReadonlySet<string>): string {
  const hash = bytesToHex(sha256(utf8ToBytes(identity(tool))));
  const legal = sanitised(tool.name);
  const base = isEmptied(legal) ? 'tool' : legal;
  for (let length = SHORT_HASH_LENGTH; ; length++) {
    const name = `${base.slice(0, MAX_MODEL_NAME_LENGTH - length - 1)}_${hash.slice(0, length)}`;
    if (!taken.has(name) || length === hash.length) return name;
  }
}

function sanitised(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]+/g, '_');
}

function isEmptied(name: string): boolean {
  return !/[a-zA-Z0-9]/.test(name);
}

function identity({ server, name }: NamedTool): string {
  return JSON.stringify([server ?? null, name]);
}

function refuseTwins(tools: readonly NamedTool[]): void {
  const seen = new Set<string>();
  for (const tool of tools) {
    checkToolName(tool);
    if (seen.has(identity(tool))) {
      throw new ConfigError('tools', `${whose(tool)} has two tools named ${JSON.stringify(tool.name)}`);
    }
    seen.add(identity(tool));
  }
}

function whose({ server }: NamedTool): string {
  return server === undefined ? 'the configuration' : `the server ${JSON.stringify(server)}`;
}

function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const MAX_NAMES = 3;
/** Longer names are compared by their beginning: the distance takes quadratic time. */
const MAX_COMPARED = 100;

/**
 * The names that `name` was probably meant to be, nearest first, at most three: a slip of a few letters, another
 * spelling (`orderId`, `order-id`), or a part of the name. Own names only: `__proto__` and `toString` are near to nothing.
 */
export function nearestNames(name: string, names: Iterable<string>): string[] {
  const wanted = plain(name);
  if (wanted === '') return [];
  const ranked: { name: string; rank: number }[] = [];
  for (const candidate of new Set(names)) {
    const rank = rankOf(wanted, plain(candidate));
    if (rank !== undefined) ranked.push({ name: candidate, rank });
  }
  ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  return ranked.slice(0, MAX_NAMES).map((each) => each.name);
}

function rankOf(wanted: string, candidate: string): number | undefined {
  if (candidate === '') return undefined;
  const slips = distance(wanted, candidate);
  // A third of the letters: `read_flie` is near `read_file`, `get` is not near `set_up`.
  if (slips <= Math.floor(Math.max(wanted.length, candidate.length) / 3)) return slips;
  const isPart = Math.min(wanted.length, candidate.length) >= 3;
  if (isPart && (candidate.includes(wanted) || wanted.includes(candidate))) return 100 + slips;
  return undefined;
}

function plain(name: string): string {
  return name
    .slice(0, MAX_COMPARED)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
