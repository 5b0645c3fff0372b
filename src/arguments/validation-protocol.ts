/** What main thread and validation thread say to each other: plain data, types only. */

/** One complaint of the validator, with the schema that made it. */
export interface SchemaError {
  keyword: string;
  /** JSON Pointer into the value. */
  instancePath: string;
  schemaPath: string;
  params: Record<string, unknown>;
  /** The schema that holds the keyword. */
  parentSchema: object;
  /** Set where the complaint is about a property's name. */
  propertyName?: string;
}

export type ThreadJob =
  | { kind: 'check'; id: number; schema: object; dialects: string[]; patterns: string[] }
  | { kind: 'validate'; id: number; hash: string; schema?: object; dialects: string[]; value: unknown }
  | { kind: 'forget'; id: number };

export type ThreadAnswer =
  | { kind: 'ready'; id: number }
  /** A sign before something that may hang. */
  | { kind: 'probing'; id: number; pattern: string }
  | { kind: 'valid'; id: number }
  | { kind: 'invalid'; id: number; errors: SchemaError[] }
  /** The schema can't be compiled, or checking the value failed (too deep for the stack). */
  | { kind: 'broken'; id: number; problem: string }
  | { kind: 'unknown_schema'; id: number };
