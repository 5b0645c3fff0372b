/** A value that survives JSON unchanged. Everything that crosses a boundary (activity, store, model) is one. */
export type Json = string | number | boolean | null | Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [key: string]: Json;
}

/** Ends a `switch` over a discriminant: a case that the types do not know is a programming error. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}
