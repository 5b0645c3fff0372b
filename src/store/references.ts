/** Which stored bodies a call or a turn refers to. */
import type { CallModelResult } from '../contract/activities.js';
import type { Outcome } from '../contract/call.js';
import type { RenderedMessage } from './records.js';

/** A body that is referred to, and as what. */
export interface Reference {
  id: string;
  as: 'result' | 'attachment' | 'artifact' | 'arguments';
}

export function referencesOfCall(outcome: Outcome | undefined, rendered: RenderedMessage | undefined): Reference[] {
  const result = outcome && 'result' in outcome && 'bodyId' in outcome.result ? [outcome.result.bodyId] : [];
  return [...result.map((id): Reference => ({ id, as: 'result' })), ...(rendered ? referencesOfMessage(rendered) : [])];
}

/** What a tool's message lets the model read further. Only what perdure itself put there: the data is a tool's own. */
export function referencesOfMessage({
  content,
  attachments = [],
}: Pick<RenderedMessage, 'content' | 'attachments'>): Reference[] {
  const artifact = artifactIn(content);
  return [
    ...attachments.map(({ bodyId }): Reference => ({ id: bodyId, as: 'attachment' })),
    ...(artifact === undefined ? [] : [{ id: artifact, as: 'artifact' } as const]),
  ];
}

function artifactIn(content: string): string | undefined {
  if (!content.includes('"artifact_id"')) return undefined;
  let shown: unknown;
  try {
    shown = JSON.parse(content);
  } catch {
    return undefined;
  }
  const truncated = (shown as { truncated?: { artifact_id?: unknown } } | null)?.truncated;
  return typeof truncated?.artifact_id === 'string' ? truncated.artifact_id : undefined;
}

export function referencesOfTurn({ calls }: CallModelResult): Reference[] {
  return calls.flatMap((call): Reference[] => {
    if (call.status === 'answered') return referencesOfCall(call.outcome, undefined);
    const args = call.call.arguments;
    return 'bodyId' in args ? [{ id: args.bodyId, as: 'arguments' }] : [];
  });
}
