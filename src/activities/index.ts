import { bookkeepingHeartbeatTimeoutMs } from '../contract/activities.js';
import type { RunActivities } from '../contract/activities.js';
import { closeAgentCall, openAgentCall } from './agent-call.js';
import { callModel } from './call-model.js';
import { callTool } from './call-tool.js';
import { ConversationCache } from './conversation-cache.js';
import { endFormerAgent } from './end-former-agent.js';
import { finishRun } from './finish-run.js';
import { heartbeating } from './heartbeating.js';
import { ManifestCache } from './services.js';
import type { Services } from './services.js';
import { resumeRun } from './resume-run.js';
import { settleCall } from './settle-call.js';
import { startRun } from './start-run.js';

/** The activities of a run, bound to what one worker has. */
export function createActivities(services: Services): RunActivities {
  const manifests = new ManifestCache(services.store);
  const conversations = new ConversationCache(services.store);
  const { heartbeatTimeoutMs } = services;
  const bookkeeping = <T>(run: () => Promise<T>) => heartbeating(bookkeepingHeartbeatTimeoutMs, run);
  return {
    startRun: (input) => bookkeeping(() => startRun(services, input)),
    resumeRun: (input) => bookkeeping(() => resumeRun(services, input)),
    callModel: (input) => heartbeating(heartbeatTimeoutMs, () => callModel(services, manifests, conversations, input)),
    callTool: (input) => heartbeating(heartbeatTimeoutMs, () => callTool(services, manifests, conversations, input)),
    settleCall: (input) => bookkeeping(() => settleCall(services, manifests, input)),
    finishRun: (input) => bookkeeping(() => finishRun(services, input)),
    openAgentCall: (input) => bookkeeping(() => openAgentCall(services, manifests, input)),
    closeAgentCall: (input) => bookkeeping(() => closeAgentCall(services, manifests, input)),
    endFormerAgent: (input) => heartbeating(heartbeatTimeoutMs, () => endFormerAgent(services, input)),
  };
}
