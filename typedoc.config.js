/**
 * The API reference: `npm run docs:api` writes it to `api/`. A public export without a docstring, or one that refers to
 * a type that nobody can import, is an error.
 *
 * @type {Partial<import('typedoc').TypeDocOptions>}
 */
const config = {
  name: 'perdure',
  entryPoints: ['src/index.ts', 'src/workflows/index.ts', 'src/worker.ts', 'src/testing/index.ts'],
  out: 'api',
  readme: 'none',
  excludePrivate: true,
  // Links into a repository are those of whoever publishes the pages.
  disableSources: true,
  validation: { notExported: true, invalidLink: true, notDocumented: true },
  requiredToBeDocumented: ['Class', 'Function', 'Interface', 'TypeAlias', 'Variable'],
  treatValidationWarningsAsErrors: true,
  intentionallyNotExported: [
    // Parts of what `loadConfig` resolves and workers hand on; nobody writes one by hand.
    'src/faults/fault.ts:FaultPlan',
    'src/contract/guard-state.ts:LoopPolicy',
    'src/tools/tool.ts:LiveAgent',
    'src/worker/worker-services.ts:WorkerServices',
    // What the client makes for itself: users call `Perdure.connect`.
    'src/client/run-reader.ts:PerdureParts',
    // What runs are told by the client, by their parents and by themselves when they continue as new.
    'src/contract/run.ts:AgentOrigin',
    'src/contract/run.ts:CarriedRun',
    'src/contract/resume-request.ts:ResumeRequest',
    'src/contract/manifest.ts:ManifestSummary',
    // Aliases that are read best where they are used.
    'src/tools/http-tool.ts:PerCall',
    'src/server/connection.ts:ResolveOptions',
  ],
  intentionallyNotDocumented: [
    // The comment of `follow` says it.
    'index.Perdure.follow.__type.look',
    // `Omit` and `Pick` lose the comments of methods, which stand at `ToolOptions`.
    'index.AgentToolOptions.suggest',
    ...['reconcile', 'refresh', 'suggest', 'progress', 'breakerKey', 'exclusive'].map(
      (name) => `index.HttpToolOptions.${name}`,
    ),
  ],
};

export default config;
