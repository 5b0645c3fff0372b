/** `perdure/testing`: what tests, demos and benchmarks of agents start, and models that need no key. */
export { endlessScript, scriptedModel, type Script, type ScriptedReply } from './models/scripted-model.js';
export { openServer, type FoundServer, type OpenServer } from './server/connection.js';
export { startDevServer, type DevServer, type DevServerOptions } from './server/dev-server.js';
