import { bookkeepingHeartbeatTimeoutMs } from '../contract/activities.js';
import type { RunActivities } from '../contract/activities.js';
import { closeAgentCall, openAgentCall } from './agent-call.js';
import { callModel } from './call-model.js';
import { callTool } from './call-tool.js';
import { unlessCollected } from './collected-run.js';
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
  const attempt = <T>(runKey: string, run: () => Promise<T>, timeoutMs = heartbeatTimeoutMs) =>
    heartbeating(timeoutMs, () => unlessCollected(services.store, runKey, run));
  const bookkeeping = <T>(runKey: string, run: () => Promise<T>) => attempt(runKey, run, bookkeepingHeartbeatTimeoutMs);
  return {
    startRun: (input) => bookkeeping(input.runKey, () => startRun(services, input)),
    resumeRun: (input) => bookkeeping(input.runKey, () => resumeRun(services, input)),
    callModel: (input) => attempt(input.runKey, () => callModel(services, manifests, conversations, input)),
    callTool: (input) => attempt(input.call.runKey, () => callTool(services, manifests, conversations, input)),
    settleCall: (input) => bookkeeping(input.call.runKey, () => settleCall(services, manifests, input)),
    finishRun: (input) => bookkeeping(input.runKey, () => finishRun(services, input)),
    openAgentCall: (input) => bookkeeping(input.call.runKey, () => openAgentCall(services, manifests, input)),
    closeAgentCall: (input) => bookkeeping(input.call.runKey, () => closeAgentCall(services, manifests, input)),
    endFormerAgent: (input) => attempt(input.runKey, () => endFormerAgent(services, input)),
  };
}
