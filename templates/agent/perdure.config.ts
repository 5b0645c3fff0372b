import { defineConfig } from 'perdure';
import { openShop } from './shop.ts';
import { shopTools } from './tools.ts';

export default defineConfig({
  // Without PERDURE_MODEL a script plays the model, so that everything runs without a key. For a real one:
  // npm install @ai-sdk/openai, set OPENAI_API_KEY, and PERDURE_MODEL=openai:gpt-4.1-mini.
  model: process.env['PERDURE_MODEL'] ?? 'scripted:script.ts',
  instructions: 'You look after the customers of a small shop. Look an order up before you act on it.',
  tools: shopTools(openShop('.shop')),
  limits: { steps: 20 },
});
