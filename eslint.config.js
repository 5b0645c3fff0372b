import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import { fileURLToPath } from 'node:url';
import tseslint from 'typescript-eslint';
import { importBoundaries } from './scripts/eslint/import-boundaries.js';

const root = fileURLToPath(new URL('src', import.meta.url));

const isolate = ['@temporalio/workflow', '@temporalio/common'];

/** Who may import whom: the layers of CONTRIBUTING.md, every folder of src. */
const boundaries = [
  // What runs inside the workflow sandbox, or decides for what does.
  { folder: 'contract', folders: [], packages: [] },
  {
    folder: 'policy',
    folders: ['contract'],
    packages: ['@noble/hashes', 'canonicalize', 'fastest-levenshtein'],
  },
  { folder: 'temporal', folders: ['contract', 'policy'], packages: isolate },
  { folder: 'workflows', folders: ['contract', 'policy', 'temporal'], typesOf: ['activities'], packages: isolate },
  { folder: 'store', folders: ['contract', 'policy'] },
  { folder: 'stats', folders: ['contract', 'policy'], typesOf: ['store'] },
  { folder: 'models', folders: ['contract', 'config'] },
  { folder: 'results', folders: ['contract', 'policy', 'tools'] },
  { folder: 'tools', folders: ['contract', 'policy', 'config', 'models', 'results'] },
  { folder: 'arguments', folders: ['contract', 'policy', 'config', 'models', 'tools'] },
  { folder: 'faults', folders: ['contract', 'policy', 'config', 'tools'] },
  { folder: 'config', folders: ['contract', 'faults', 'models', 'store', 'tools'] },
  { folder: 'server', folders: ['contract', 'config'] },
  { folder: 'guards', folders: ['contract', 'policy', 'store', 'results', 'tools'] },
  { folder: 'replay', folders: ['contract', 'config'] },
  { folder: 'activities', except: ['workflows', 'worker', 'client', 'cli', 'server', 'testing', 'index'] },
  { folder: 'worker', except: ['workflows', 'client', 'cli', 'testing', 'index'] },
  { folder: 'client', except: ['activities', 'workflows', 'worker', 'cli', 'testing', 'index'] },
  { folder: 'testing', except: ['activities', 'workflows', 'cli', 'index'] },
  { folder: 'cli', except: ['activities', 'workflows', 'testing', 'index'] },
].map((boundary) => ({
  files: [`src/${boundary.folder}/**/*.ts`],
  rules: { 'perdure/import-boundaries': /** @type {['error', object]} */ (['error', { root, ...boundary }]) },
}));

const failuresOfTemporal = ['@temporalio/common', '@temporalio/workflow', '@temporalio/activity', '@temporalio/client'];

export default defineConfig(
  { ignores: ['dist', 'coverage', 'api', '.perdure', 'node_modules'] },
  eslint.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    plugins: { perdure: { rules: { 'import-boundaries': importBoundaries } } },
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['bin/perdure.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // An async function that implements an interface of promises needs no await.
      '@typescript-eslint/require-await': 'off',
    },
  },
  ...boundaries,
  {
    files: ['src/**/*.ts'],
    rules: {
      // Node.js 22.18 is promised, which has none of them.
      'no-restricted-globals': [
        'error',
        ...['AsyncDisposableStack', 'DisposableStack', 'URLPattern', 'Float16Array'].map((name) => ({
          name,
          message: 'Node.js 22.18 has no such global.',
        })),
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/temporal/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: failuresOfTemporal.map((name) => ({
            name,
            importNames: ['ApplicationFailure'],
            message: 'One mapper speaks Temporal failures: src/temporal.',
          })),
        },
      ],
    },
  },
  {
    // Replayed, or decided on in replayed code: equal inputs must give equal answers in every process and year.
    files: ['src/contract/**/*.ts', 'src/policy/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['process', 'fetch', 'setTimeout', 'setInterval', 'setImmediate', 'performance', 'crypto', 'console'].map(
          (name) => ({ name, message: 'Policies are pure: what they need is an argument.' }),
        ),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time is an argument of a policy.' },
        { object: 'Math', property: 'random', message: 'Chance is an argument of a policy.' },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
          message: 'Time is an argument of a policy.',
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'examples/**/*.ts', 'templates/**/*.ts'],
    rules: {
      // Tests read what JSON, fakes and servers give; asserting on it is their business.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      // Anything can be thrown, and tests throw it.
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['scripts/**/*.{js,mjs}', 'bin/*.js', '*.config.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        setTimeout: 'readonly',
      },
    },
    rules: {
      // What is built or parsed is not known to the types here.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
);
