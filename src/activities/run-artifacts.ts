import { referencesOfMessage } from '../store/references.js';
import type { Store } from '../store/store.js';
import type { LoadArtifact } from '../tools/read-artifact.js';

/** Sub-agents of a run, at any depth, that are looked at. */
const mostSubAgents = 1_000;

/**
 * Loads what a run's model was shown the id of: by a call of the run, by one of its sub-agents, whose results it reads, or
 * by the conversation that it was forked from. Any other id, however the model came by it, is as good as none: ids are
 * hashes of content and equal over all runs of a store.
 */
export function runArtifacts(store: Store): LoadArtifact {
  return async (artifactId, { key, runId }) => {
    const runKey = (await store.getCall(key))?.row.runKey;
    if (runKey === undefined) return undefined;
    const isShown = (await wasShown(store, runKey, artifactId)) || (await ofSubAgents(store, runId, artifactId));
    return isShown || (await inConversation(store, runKey, artifactId)) ? await store.getBody(artifactId) : undefined;
  };
}

async function wasShown(store: Store, runKey: string, artifactId: string): Promise<boolean> {
  const messages = await store.findRendered(runKey, artifactId);
  return messages.some((message) => referencesOfMessage(message).some(({ id }) => id === artifactId));
}

/** A sub-agent's workflow has the name of the call that it is: `run-1/c2.0`. */
async function ofSubAgents(store: Store, workflowId: string, artifactId: string): Promise<boolean> {
  const children = await store.listRuns({ workflowIdPrefix: `${workflowId}/c`, limit: mostSubAgents });
  for (const { runKey } of children) if (await wasShown(store, runKey, artifactId)) return true;
  return false;
}

async function inConversation(store: Store, runKey: string, artifactId: string): Promise<boolean> {
  const head = (await store.getRun(runKey))?.head ?? '';
  const chain = await store.getChain(head);
  return chain.some(
    ({ message }) => message.role === 'tool' && referencesOfMessage(message).some(({ id }) => id === artifactId),
  );
}
