import { cp, lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PerdureError } from '../client/perdure-error.js';

/** Above `dist` (and `src`). */
const packageDir = fileURLToPath(new URL('../../', import.meta.url));
const templateDir = join(packageDir, 'templates', 'agent');

/** npm leaves `.gitignore` out of packages, and a `tsconfig.json` here would be taken for one of this repository. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore', 'tsconfig.project.json': 'tsconfig.json' };

export interface CreatedProject {
  dir: string;
  /** Paths from `dir`. */
  files: string[];
  /** Where this perdure is a clone: its path from `dir`, to install it from. Absent where it was installed itself. */
  clone?: string;
}

/**
 * Writes the template's files into a folder, which is made where there is none. Nothing is ever overwritten: rejects with
 * `usage` that names the files that are there already, and then has written nothing.
 */
export async function createProject(target: string, options: { version: string }): Promise<CreatedProject> {
  const dir = resolve(target);
  const sources = await filesIn(templateDir);
  const files = sources.map((source) => ({ source, file: RENAMED[source] ?? source }));
  const there: string[] = [];
  for (const { file } of files) if (await exists(join(dir, file))) there.push(file);
  if (there.length > 0) {
    throw new PerdureError('usage', `${dir} has ${there.join(', ')} already; nothing was written.`, {
      next: 'Choose an empty folder: perdure init my-agent',
    });
  }
  for (const { source, file } of files) {
    await mkdir(dirname(join(dir, file)), { recursive: true });
    if (file === 'package.json') await writePackage(join(dir, file), { name: basename(dir), ...options });
    // Also between the look and now nobody's file is replaced.
    else await cp(join(templateDir, source), join(dir, file), { errorOnExist: true, force: false });
  }
  const isInstalled = packageDir.split(sep).includes('node_modules');
  return {
    dir,
    files: files.map(({ file }) => file).sort(),
    ...(!isInstalled && { clone: relative(dir, packageDir) }),
  };
}

async function filesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

/** Named as its folder, and with the perdure that made it. */
async function writePackage(path: string, { name, version }: { name: string; version: string }): Promise<void> {
  const template = JSON.parse(await readFile(join(templateDir, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const dependencies = { ...template.dependencies, perdure: `^${version}` };
  const described = { ...template, name: packageName(name), dependencies };
  await writeFile(path, `${JSON.stringify(described, null, 2)}\n`, { flag: 'wx' });
}

/** A folder's name as npm accepts it, by its documentation of `name` in package.json. */
function packageName(folder: string): string {
  const plain = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '');
  return plain === '' ? 'my-agent' : plain.slice(0, 214);
}
