import { describe, expect, it } from 'vitest';
import { renderCollection } from '../../../src/cli/render/store-view.js';
import { makeStyle } from '../../../src/cli/render/style.js';
import type { Collection } from '../../../src/store/collect-garbage.js';

const pipe = makeStyle({ colour: false, columns: undefined, nowMs: 0 });
const atMs = Date.UTC(2026, 9, 3, 12);

function collection(more: Partial<Collection>): Collection {
  const nothing = { turns: 0, calls: 0, nodes: 0, bodies: 0, files: 0, bytes: 0 };
  return { store: 'store.db', dryRun: false, runs: [], doubtful: [], ...nothing, ...more };
}

describe('what perdure store gc removed', () => {
  it('names each run, and who says that it had ended', () => {
    const run = { runKey: 'k', endedAtMs: atMs };
    const runs: Collection['runs'] = [
      { ...run, workflowId: 'ended' },
      { ...run, workflowId: 'stuck', closedAs: 'timed_out' },
      { ...run, workflowId: 'old', closedAs: 'forgotten' },
    ];
    expect(renderCollection(collection({ runs, turns: 2, calls: 1 }), pipe).split('\n')).toEqual([
      'removed: 3 runs with 2 turns and 1 call, 0 nodes, 0 bodies, 0 files, 0 B of bodies and files',
      '  ended, ended 2026-10-03',
      "  stuck, timed out by the server's account 2026-10-03",
      '  old, last written 2026-10-03',
    ]);
  });

  it('names runs that are kept because nobody can say that they ended, and what to do', () => {
    const doubtful = Array.from({ length: 21 }, (_, n) => ({
      ...{ runKey: `k${n}`, workflowId: `own-${n}`, writtenAtMs: atMs, why: 'forgotten' as const },
    }));
    const [, first, second, ...rest] = renderCollection(collection({ doubtful }), pipe).split('\n');
    expect(first).toBe(
      'kept: 21 runs without an end, long silent; the server knows them no more: ' +
        'if it is the right one, they have ended, and go with --forgotten',
    );
    expect(second).toBe('  own-0, last written 2026-10-03');
    expect(rest).toHaveLength(20);
    expect(rest.at(-1)).toBe('  and 1 more');
    const unasked = doubtful.slice(0, 1).map((run) => ({ ...run, why: 'unasked' as const }));
    expect(renderCollection(collection({ doubtful: unasked }), pipe)).toContain(
      'kept: 1 run without an end, long silent; no server was asked whether they have ended\n  own-0,',
    );
  });
});
