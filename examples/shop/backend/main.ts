// The shop as its own process: `node examples/shop/backend/main.ts --db FILE [--port 0] [--no-faults] [--faults JSON]`.
// `--faults '{"rateLimitedLookups": 0}'` changes the faults that it names. Prints one line of JSON with its port once it
// answers. Ends on SIGTERM or SIGINT, and, where a parent started it with an IPC channel, when that parent is gone.
import { parseArgs } from 'node:util';
import { demoFaults, noFaults, type Faults } from './faults.ts';
import { startShopService } from './service.ts';

const { values } = parseArgs({
  options: {
    db: { type: 'string' },
    port: { type: 'string', default: '0' },
    'no-faults': { type: 'boolean', default: false },
    faults: { type: 'string', default: '{}' },
  },
});
if (values.db === undefined) {
  process.stderr.write('usage: node main.ts --db FILE [--port 0] [--no-faults] [--faults JSON]\n');
  process.exit(2);
}

const starting = startShopService({
  dbPath: values.db,
  port: Number(values.port),
  faults: { ...(values['no-faults'] ? noFaults : demoFaults), ...(JSON.parse(values.faults) as Partial<Faults>) },
});

let ending = false;
async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  await (await starting).close();
  process.exit(0);
}
// Before the port is printed: whoever reads it may want to end this at once.
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, () => void end());

const { port } = await starting;
process.stdout.write(`${JSON.stringify({ port })}\n`);
