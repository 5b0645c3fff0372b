/** How the retries of client libraries are switched off, from their own documentation. */
const remedies: Readonly<Record<string, string>> = {
  openai: 'new OpenAI({ maxRetries: 0 })',
  anthropic: 'new Anthropic({ maxRetries: 0 })',
  'ai-sdk': 'generateText({ maxRetries: 0, … })',
  'aws-sdk': 'new …Client({ maxAttempts: 1 })',
  'azure-sdk': 'new …Client(…, { retryOptions: { maxRetries: 0 } })',
  googleapis: 'retry: false in the options of the request',
  stripe: 'new Stripe(key, { maxNetworkRetries: 0 })',
  slack: 'new WebClient(token, { retryConfig: { retries: 0 } })',
  octokit: 'new Octokit({ retry: { enabled: false } })',
  got: 'got(url, { retry: { limit: 0 } })',
  axios: "axios-retry's retries: 0, or no interceptor that sends again",
};

const unknownClient =
  'openai and anthropic maxRetries: 0, AWS SDK maxAttempts: 1, got retry: { limit: 0 }, ky retry: 0, axios-retry ' +
  'retries: 0, undici without RetryAgent, and no loop around fetch';

/** What to change so that the executor alone retries: in the named client, or in whichever it is. */
export function retryRemedy(client: string | undefined): string {
  const known = client !== undefined && Object.hasOwn(remedies, client) ? remedies[client] : undefined;
  return known ?? unknownClient;
}
