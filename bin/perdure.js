#!/usr/bin/env node
// Nothing is imported before the version is known to be enough: what an older Node says of a missing `node:sqlite` helps nobody.
const oldest = { major: 22, minor: 18 };
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < oldest.major || (major === oldest.major && minor < oldest.minor)) {
  process.stderr.write(
    `perdure needs Node ${oldest.major}.${oldest.minor} or later; this is ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer one: https://nodejs.org/en/download\n',
  );
  process.exit(2);
}

const { main } = await import('../dist/cli/main.js');
process.exitCode = await main(process.argv.slice(2));
