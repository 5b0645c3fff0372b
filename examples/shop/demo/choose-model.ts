/** Which model does the demo's task, and why. */
export interface ChosenModel {
  /** `provider:model`; absent for the scripted one, which the configuration names. */
  name?: string;
  /** For people. */
  because: string;
}

/** Providers whose key in the environment is taken as the wish to use them, with a small model of each. */
const providers = [
  { key: 'OPENAI_API_KEY', model: 'openai:gpt-4.1-mini', packageName: '@ai-sdk/openai-compatible' },
  { key: 'ANTHROPIC_API_KEY', model: 'anthropic:claude-haiku-4-5', packageName: '@ai-sdk/anthropic' },
  { key: 'GOOGLE_GENERATIVE_AI_API_KEY', model: 'google:gemini-2.5-flash', packageName: '@ai-sdk/google' },
];

/** A named model wins; then the first provider with a key whose package is installed; else the script. */
export function chooseModel(options: {
  named: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  isInstalled: (packageName: string) => boolean;
}): ChosenModel {
  if (options.named?.startsWith('scripted')) return { because: 'asked for' };
  if (options.named !== undefined) return { name: options.named, because: 'asked for' };
  const withKey = providers.filter(({ key }) => options.env[key]);
  const usable = withKey.find(({ packageName }) => options.isInstalled(packageName));
  if (usable) return { name: usable.model, because: `${usable.key} is set` };
  const [wanted] = withKey;
  if (wanted) return { because: `${wanted.key} is set, but ${wanted.packageName} is not installed` };
  return { because: 'no key of a model provider is set' };
}
