import type { RunActivities } from '../contract/activities.js';
import { closeAgentCall, openAgentCall } from './agent-call.js';
import { callModel } from './call-model.js';
import { callTool } from './call-tool.js';
import { ConversationCache } from './conversation-cache.js';
import { endFormerAgent } from './end-former-agent.js';
import { finishRun } from './finish-run.js';
import { ManifestCache } from './services.js';
import type { Services } from './services.js';
import { settleCall } from './settle-call.js';
import { startRun } from './start-run.js';

/** The activities of a run, bound to what one worker has. */
export function createActivities(services: Services): RunActivities {
  const manifests = new ManifestCache(services.store);
  const conversations = new ConversationCache(services.store);
  return {
    startRun: (input) => startRun(services, input),
    callModel: (input) => callModel(services, manifests, conversations, input),
    callTool: (input) => callTool(services, manifests, input),
    settleCall: (input) => settleCall(services, manifests, input),
    finishRun: (input) => finishRun(services, input),
    openAgentCall: (input) => openAgentCall(services, manifests, input),
    closeAgentCall: (input) => closeAgentCall(services, manifests, input),
    endFormerAgent: (input) => endFormerAgent(services, input),
  };
}
