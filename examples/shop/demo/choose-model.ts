type Environment = Readonly<Record<string, string | undefined>>;

/** Which model does the demo's task, and why. */
export interface ChosenModel {
  /** `provider:model`; absent for the scripted one, which the configuration names. */
  name?: string;
  /** For people. */
  because: string;
}

/** Providers whose key in the environment is taken as the wish to use them, each with a model of middling price. */
const providers = [
  { key: 'OPENAI_API_KEY', variable: 'OPENAI_MODEL', provider: 'openai-compatible', model: 'gpt-4.1-mini' },
  { key: 'ANTHROPIC_API_KEY', variable: 'ANTHROPIC_MODEL', provider: 'anthropic', model: 'claude-sonnet-4-5' },
  { key: 'GOOGLE_GENERATIVE_AI_API_KEY', variable: 'GOOGLE_MODEL', provider: 'google', model: 'gemini-2.5-flash' },
];

/** A named model wins; then the first provider with a key whose package is installed; else the script. */
export function chooseModel(options: {
  named: string | undefined;
  env: Environment;
  isInstalled: (packageName: string) => boolean;
}): ChosenModel {
  const { named, env } = options;
  if (named === 'scripted') return { because: 'it was asked for' };
  if (named !== undefined) return { name: named, because: 'it was asked for' };
  const withKey = providers.filter(({ key }) => env[key]);
  const usable = withKey.find(({ provider }) => options.isInstalled(packageOf(provider)));
  if (usable) {
    return { name: `${usable.provider}:${env[usable.variable] || usable.model}`, because: `${usable.key} is set` };
  }
  const [wanted] = withKey;
  if (wanted) return { because: `${wanted.key} is set, but ${packageOf(wanted.provider)} is not installed` };
  return { because: 'no key of a model provider is set' };
}

function packageOf(provider: string): string {
  return `@ai-sdk/${provider}`;
}
