import type { Tool } from '../../src/tools/tool.js';
import { backendTool } from './backend-tools.js';

/** Tools whose guards all workers share. */
export function guardedTools(url: string): Tool[] {
  return [
    backendTool(url, 'search', {
      effect: 'read',
      timeoutMs: '5s',
      budgetMs: '5s',
      retry: { external_service_unavailable: 'never' },
    }),
    backendTool(url, 'transfer', {
      effect: { idempotent: 'key' },
      exclusive: ({ account }) => `account:${account as string}`,
    }),
  ];
}
