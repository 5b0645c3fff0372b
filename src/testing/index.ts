/** `perdure/testing`: what tests and demos of tools and agents start. Depends on no test runner. */
export {
  scriptedModel,
  endlessScript,
  type Script,
  type ScriptedCall,
  type ScriptedFailure,
  type ScriptedReply,
  type ScriptedTurn,
} from '../models/scripted-model.js';
export type { ScriptedConversation } from '../models/scripted-conversation.js';
export { openServer, type FoundServer, type OpenServer } from '../server/connection.js';
export { startDevServer, type DevServer, type DevServerOptions } from '../server/dev-server.js';
export {
  openTestBed,
  type LogLine,
  type TestBed,
  type TestBedOptions,
  type TestCall,
  type TestRun,
} from './test-bed.js';
export type { TestRunner } from './test-runner.js';
export { startTestServer, type TestServer } from './test-server.js';
export { toolTests } from './tool-tests.js';
export type { ToolTestOptions } from './tool-trial.js';
