import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { root } from '../../docs/page.js';

/** Takes as long as all other checks together, so it stands here and not among the unit tests. */
it('every public export says what it is, and refers to nothing that cannot be imported', async () => {
  const typedoc = join(root, 'node_modules/typedoc/bin/typedoc');
  const found = await promisify(execFile)(process.execPath, [typedoc, '--emit', 'none'], { cwd: root }).then(
    ({ stdout, stderr }) => ({ code: 0, words: stdout + stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, words: stdout + stderr }),
  );
  expect(found).toEqual({ code: 0, words: expect.not.stringMatching(/warning|error/) });
});
