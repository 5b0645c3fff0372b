import type { RecordedIntervention } from '../contract/intervention.js';
import type { TranscriptMessage } from '../contract/transcript.js';

/**
 * What persons decided about the run and the model does not know yet, as messages after the step's results. A call whose
 * unknown outcome a person has settled is told of only where the model has read the unknown one: else it reads the settled
 * outcome in its place.
 */
export function operatorNotes(
  interventions: readonly RecordedIntervention[],
  conversation: readonly TranscriptMessage[],
): TranscriptMessage[] {
  if (interventions.length === 0) return [];
  const told = new Set(conversation.map((message) => (message.role === 'user' ? message.intervention : undefined)));
  return interventions.flatMap((intervention): TranscriptMessage[] => {
    const { id, tell } = intervention;
    if (tell === undefined || told.has(id)) return [];
    if (intervention.kind === 'resolution' && !hasRead(conversation, intervention)) return [];
    return [{ role: 'user', text: tell, intervention: id }];
  });
}

function hasRead(
  conversation: readonly TranscriptMessage[],
  { callId, formerShown }: RecordedIntervention & { kind: 'resolution' },
): boolean {
  return conversation.some(
    (message) => message.role === 'tool' && message.callId === callId && message.content === formerShown,
  );
}
