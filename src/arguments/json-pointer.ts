import type { Json } from '../contract/json.js';

/** Appends one key to a JSON Pointer (RFC 6901). */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The keys of a JSON Pointer, unescaped; `''` has none. */
export function pointerKeys(pointer: string): string[] {
  if (pointer === '') return [];
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The parent's pointer and the last key; `undefined` for the root. */
export function splitPointer(pointer: string): { parent: string; key: string } | undefined {
  const key = pointerKeys(pointer).at(-1);
  if (key === undefined) return undefined;
  return { parent: pointer.slice(0, pointer.lastIndexOf('/')), key };
}

/** The value at a pointer, by own keys only; `undefined` where there is none. */
export function valueAt(root: Json, pointer: string): Json | undefined {
  let value: Json | undefined = root;
  for (const key of pointerKeys(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, Json>)[key];
  }
  return value;
}

/** Replaces the value at a pointer in place, or takes the property away where `next` is `undefined`. */
export function setValueAt(root: Json, pointer: string, next: Json | undefined): void {
  const place = splitPointer(pointer);
  const parent = place && valueAt(root, place.parent);
  if (!place || typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, place.key)) return;
  if (next !== undefined) (parent as Record<string, Json>)[place.key] = next;
  else if (!Array.isArray(parent)) delete parent[place.key];
}

/** How a place in the arguments is called in a sentence: `limit`, `filter.from`, `items[2].sku`. */
export function placeName(pointer: string): string {
  let name = '';
  for (const key of pointerKeys(pointer)) {
    if (/^\d+$/.test(key) && name !== '') name += `[${key}]`;
    else name += name === '' ? key : `.${key}`;
  }
  return name;
}
