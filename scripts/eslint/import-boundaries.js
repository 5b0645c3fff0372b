/**
 * The lint rule that keeps the layers of `src` apart: which folders and packages the files of a folder may import.
 * Relative imports are resolved, so nesting does not matter; `export … from` and `import()` count, in types as well.
 *
 * Options: `{ root, folder, folders, typesOf, packages }`
 * - `root`: absolute path of `src`. A file directly in it (`worker.ts`) is a folder of its own name (`worker`).
 * - `folder`: the folder that the options are for; its files always see each other.
 * - `folders`: other folders that may be imported; `typesOf`: only their types. Absent `folders`: all but `except`.
 * - `except`: folders that may not be imported, not even their types.
 * - `packages`: packages that may be imported (`@noble/hashes` covers its subpaths; `node:` covers all of Node);
 *   absent: all.
 */
import { dirname, relative, resolve, sep } from 'node:path';

/**
 * @typedef {{ root: string, folder: string, folders?: string[], except?: string[], typesOf?: string[], packages?: string[] }} Boundary
 */

/** @type {import('eslint').Rule.RuleModule} */
export const importBoundaries = {
  meta: {
    type: 'problem',
    docs: { description: 'keep imports within the layers of src' },
    schema: [{ type: 'object' }],
    messages: {
      folder: 'src/{{from}} must not import src/{{to}}',
      value: 'src/{{from}} may import only types of src/{{to}}: write `import type`',
      package: 'src/{{from}} must not import {{to}}',
    },
  },
  create(context) {
    const boundary = /** @type {Boundary} */ (context.options[0]);
    const file = context.filename;

    /**
     * @param {import('estree').Node} node
     * @param {unknown} specifier
     * @param {boolean} isType
     */
    const check = (node, specifier, isType) => {
      if (typeof specifier !== 'string') return;
      const verdict = judge(boundary, { file, specifier, isType });
      if (verdict)
        context.report({ node, messageId: verdict.messageId, data: { from: boundary.folder, to: verdict.to } });
    };
    // The TypeScript parser adds importKind, exportKind and TSImportType to ESTree.
    return /** @type {import('eslint').Rule.RuleListener} */ ({
      ImportDeclaration: (/** @type {any} */ node) => check(node, node.source.value, node.importKind === 'type'),
      ExportAllDeclaration: (/** @type {any} */ node) => check(node, node.source.value, node.exportKind === 'type'),
      ExportNamedDeclaration: (/** @type {any} */ node) => check(node, node.source?.value, node.exportKind === 'type'),
      ImportExpression: (/** @type {any} */ node) => check(node, node.source.value, false),
      TSImportType: (/** @type {any} */ node) => check(node, node.source?.value ?? node.argument?.literal?.value, true),
    });
  },
};

/**
 * @param {Boundary} boundary
 * @param {{ file: string, specifier: string, isType: boolean }} imported
 * @returns {{ messageId: 'folder' | 'value' | 'package', to: string } | undefined}
 */
function judge({ root, folder, folders, except = [], typesOf = [], packages }, { file, specifier, isType }) {
  if (!specifier.startsWith('.')) {
    const allowed = packages === undefined || packages.some((name) => covers(name, specifier));
    return allowed ? undefined : { messageId: 'package', to: specifier };
  }
  const to = folderOf(relative(root, resolve(dirname(file), specifier)));
  if (to === folder) return undefined;
  if (typesOf.includes(to)) return isType ? undefined : { messageId: 'value', to };
  const allowed = folders ? folders.includes(to) : !except.includes(to);
  return allowed ? undefined : { messageId: 'folder', to };
}

/**
 * @param {string} name
 * @param {string} specifier
 */
function covers(name, specifier) {
  return specifier === name || specifier.startsWith(name.endsWith(':') ? name : `${name}/`);
}

/** @param {string} path relative to src */
function folderOf(path) {
  const [first = ''] = path.split(sep);
  return first.replace(/\.[jt]s$/, '');
}
