import type { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';
import { type PerdureSearchAttribute, searchAttributeKeys } from '../contract/search-attributes.js';

// A CommonJS package whose names an ES module import does not see.
const { IndexedValueType } = proto.temporal.api.enums.v1;

/** What a namespace knows of perdure's search attributes. A run may write them only where the status is `ready`. */
export type SearchAttributeCheck =
  | { status: 'ready' }
  | { status: 'missing'; missing: PerdureSearchAttribute[] }
  /** Registered by somebody with another type: cannot be used, nor registered again under this name. */
  | { status: 'mismatched'; mismatched: { attribute: PerdureSearchAttribute; registeredAs: string }[] }
  /** The server does not say (no permission, no operator service). */
  | { status: 'unknown'; reason: string };

/**
 * Looks up perdure's three search attributes in a namespace. Never throws: runs go on without them, but one write of
 * an unregistered attribute fails a run's workflow tasks for ever.
 */
export async function checkSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
): Promise<SearchAttributeCheck> {
  let registered: Record<string, temporal.api.enums.v1.IndexedValueType>;
  try {
    registered = (await connection.operatorService.listSearchAttributes({ namespace })).customAttributes;
  } catch (error) {
    return { status: 'unknown', reason: error instanceof Error ? error.message : String(error) };
  }
  const all = Object.values(searchAttributeKeys);
  const mismatched = all.flatMap((attribute) => {
    const type = registered[attribute.name];
    if (type === undefined || type === indexedValueType(attribute)) return [];
    return [{ attribute, registeredAs: readableType(type) }];
  });
  if (mismatched.length > 0) return { status: 'mismatched', mismatched };
  const missing = all.filter(({ name }) => registered[name] === undefined);
  return missing.length > 0 ? { status: 'missing', missing } : { status: 'ready' };
}

/**
 * Registers missing search attributes and waits until the namespace lists them (servers cache the list).
 * Throws what the server answers, e.g. a missing permission, and after `timeoutMs` without their appearing.
 */
export async function registerSearchAttributes(
  connection: Connection,
  {
    namespace,
    missing,
    timeoutMs = 10_000,
  }: { namespace: string; missing: readonly PerdureSearchAttribute[]; timeoutMs?: number },
): Promise<void> {
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((key) => [key.name, indexedValueType(key)])),
  });
  const deadline = Date.now() + timeoutMs;
  while ((await checkSearchAttributes(connection, namespace)).status === 'missing') {
    if (Date.now() > deadline) throw new Error(`search attributes still missing in ${namespace} after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The exact command that registers missing attributes; one line to paste into a shell for each type. */
export function registerCommand(
  missing: readonly PerdureSearchAttribute[],
  { address, namespace }: { address: string; namespace: string },
): string {
  return missing
    .map(
      (key) =>
        `temporal operator search-attribute create --address ${address} --namespace ${namespace} ` +
        `--name ${key.name} --type ${cliTypeName(key)}`,
    )
    .join('\n');
}

/** The type as the Temporal CLI spells it. */
export function cliTypeName({ type }: PerdureSearchAttribute): 'Keyword' | 'KeywordList' {
  return type === 'KEYWORD' ? 'Keyword' : 'KeywordList';
}

function indexedValueType({ type }: PerdureSearchAttribute): temporal.api.enums.v1.IndexedValueType {
  return type === 'KEYWORD'
    ? IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    : IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST;
}

function readableType(type: temporal.api.enums.v1.IndexedValueType): string {
  return (IndexedValueType[type] ?? String(type)).replace('INDEXED_VALUE_TYPE_', '').toLowerCase();
}
