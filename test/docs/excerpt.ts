/** What a snippet noted `<!-- excerpt -->` may use without importing it. Options are checked; those left out are not missed. */
import type { Failure, HttpToolOptions, PerdureConfig, Tool, ToolOptions } from 'perdure';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- arguments of an excerpt have whatever type it reads of them
type Any = any;

export { z } from 'zod';
export { agentAsTool, degraded, empty, partial, ToolError } from 'perdure';

export declare function defineTool(options: Partial<ToolOptions<Any, Any>>): Tool;
export declare function httpTool(options: Partial<HttpToolOptions<Any, Any>>): Tool;
export declare function defineConfig(config: Partial<PerdureConfig>): PerdureConfig;
export declare const failure: Failure;

/** Tools and backends of the examples. */
export declare const charge: Tool;
export declare const search: Tool;
export declare const shopTools: Tool[];
export declare const payments: Any;
export declare const printer: Any;
export declare const catalogue: Any;
export declare const client: Any;
export declare const PutItemCommand: Any;
