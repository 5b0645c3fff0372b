/** Five runs that end badly, and are mended: docs/troubleshooting.md. */
import { defineConfig } from 'perdure';
import { openJournal } from './journal.ts';
import { shopTools } from './tools.ts';

export default defineConfig({
  model: 'scripted:script.ts',
  tools: shopTools(openJournal('.perdure/journal.txt')),
  workflows: './workflows.ts',
});
