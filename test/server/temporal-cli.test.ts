import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheDir, findTemporalCli, getTemporalCli } from '../../src/server/temporal-cli.js';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdure-cli-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function executable(...path: string[]): Promise<string> {
  const file = join(home, ...path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, '#!/bin/sh\necho temporal version 0.0.0-TEST\n');
  await chmod(file, 0o755);
  return file;
}

describe('finding the Temporal CLI', () => {
  it('prefers TEMPORAL_CLI_PATH, then PATH, then the cache', async () => {
    const named = await executable('named', 'cli');
    const onPath = await executable('bin', 'temporal');
    const cached = await executable('.cache', 'perdure', 'temporal-cli-v1.5.1', 'temporal');
    const env = { HOME: home, PATH: `/nowhere:${join(home, 'bin')}` };
    expect(findTemporalCli({ ...env, TEMPORAL_CLI_PATH: named })).toEqual({ path: named, source: 'TEMPORAL_CLI_PATH' });
    expect(findTemporalCli(env)).toEqual({ path: onPath, source: 'PATH' });
    expect(findTemporalCli({ HOME: home, PATH: '' })).toEqual({ path: cached, source: 'cache' });
  });

  it('gives an absolute path for a relative TEMPORAL_CLI_PATH', async () => {
    const named = await executable('named', 'cli');
    const found = findTemporalCli({ HOME: home, TEMPORAL_CLI_PATH: relative(process.cwd(), named) });
    expect(found?.path).toBe(named);
  });

  it('finds none in an empty home', () => {
    expect(findTemporalCli({ HOME: home, PATH: '/nowhere' })).toBeUndefined();
  });

  it('refuses a TEMPORAL_CLI_PATH that is not executable instead of taking another CLI', async () => {
    await executable('bin', 'temporal');
    const env = { HOME: home, PATH: join(home, 'bin'), TEMPORAL_CLI_PATH: join(home, 'gone') };
    expect(() => findTemporalCli(env)).toThrow(`TEMPORAL_CLI_PATH: no executable file at ${join(home, 'gone')}`);
  });

  it('keeps its cache in XDG_CACHE_HOME where that is set', () => {
    expect(cacheDir({ HOME: '/home/a' })).toBe('/home/a/.cache/perdure');
    expect(cacheDir({ HOME: '/home/a', XDG_CACHE_HOME: '/var/cache/a' })).toBe('/var/cache/a/perdure');
  });
});

describe('getting the Temporal CLI', () => {
  it('downloads the archive that the site names, once for two processes at a time', async () => {
    await executable('temporal');
    const archive = join(home, 'archive.tar.gz');
    execFileSync('tar', ['-czf', archive, '-C', home, 'temporal']);
    const requests: string[] = [];
    await using site = await serve(async (path, origin) => {
      requests.push(path);
      if (path.startsWith('/archive')) return { body: await readFile(archive) };
      return { body: JSON.stringify({ archiveUrl: `${origin}/archive.tar.gz`, fileToExtract: 'temporal' }) };
    });
    const env = { HOME: home, PATH: '/nowhere' };
    const lines: string[] = [];
    const get = () => getTemporalCli({ env, log: (line) => lines.push(line), site: site.origin });
    const both = await Promise.all([get(), get()]);

    const cached = join(home, '.cache', 'perdure', 'temporal-cli-v1.5.1', 'temporal');
    expect(both.map(({ path }) => path)).toEqual([cached, cached]);
    expect(execFileSync(cached).toString()).toBe('temporal version 0.0.0-TEST\n');
    expect(requests[0]).toMatch(/^\/cli\/v1\.5\.1\?arch=\w+&platform=\w+&format=tar\.gz$/);
    expect(await readdir(join(home, '.cache', 'perdure'))).toEqual(['temporal-cli-v1.5.1']);
    expect(await get()).toEqual({ path: cached, source: 'cache' });
  });

  it('says every way that failed and what to do, and leaves no half of a CLI', async () => {
    await using site = await serve(async () => ({ status: 503, body: '' }));
    const getting = getTemporalCli({ env: { HOME: home, PATH: '/nowhere' }, log: () => undefined, site: site.origin });
    const error: Error = await getting.then(
      () => new Error('got one'),
      (reason: Error) => reason,
    );
    expect(error.message).toContain(`  - download: ${new URL(site.origin).host} answered 503\n`);
    expect(error.message).toContain('  - go install: `go` is not on PATH\n');
    expect(error.message).toContain('set TEMPORAL_CLI_PATH to a `temporal` executable');
    expect(await readdir(join(home, '.cache', 'perdure'))).toEqual(['temporal-cli-v1.5.1']);
    expect(findTemporalCli({ HOME: home, PATH: '/nowhere' })).toBeUndefined();
  });

  it('does not keep a download that does not run', async () => {
    await writeFile(join(home, 'temporal'), 'not a program');
    const archive = join(home, 'archive.tar.gz');
    execFileSync('tar', ['-czf', archive, '-C', home, 'temporal']);
    await using site = await serve(async (path, origin) =>
      path.startsWith('/archive')
        ? { body: await readFile(archive) }
        : { body: JSON.stringify({ archiveUrl: `${origin}/archive.tar.gz`, fileToExtract: 'temporal' }) },
    );
    const getting = getTemporalCli({ env: { HOME: home, PATH: '/nowhere' }, log: () => undefined, site: site.origin });
    await expect(getting).rejects.toThrow('No Temporal CLI here');
    expect(findTemporalCli({ HOME: home, PATH: '/nowhere' })).toBeUndefined();
  });
});

type Answer = { status?: number; body: string | Buffer };

async function serve(
  answer: (path: string, origin: string) => Promise<Answer>,
): Promise<{ origin: string } & AsyncDisposable> {
  let origin = '';
  const server: Server = createServer((request, response) => {
    void answer(request.url ?? '', origin).then(({ status = 200, body }) => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    origin,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
