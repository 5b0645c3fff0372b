// Preloaded into the demo's workers and commands (`node --import`): they end when the demo is gone, however it went.
process.once('disconnect', () => process.exit(1));
// Waiting for that alone must not keep a process from ending.
process.channel?.unref();
