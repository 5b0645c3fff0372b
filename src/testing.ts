/** `perdure/testing`: what tests and demos of agents start. */
export { openServer, type FoundServer, type OpenServer } from './server/connection.js';
export { startDevServer, type DevServer, type DevServerOptions } from './server/dev-server.js';
