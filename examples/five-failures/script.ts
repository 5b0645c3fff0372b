import type { Json } from 'perdure';
import type { ScriptedConversation, ScriptedReply } from 'perdure/testing';

type Shown = {
  status: string;
  message?: string;
  data?: Json;
};

/** The scripted model: a function of the conversation so far, as a model is. */
export default (conversation: ScriptedConversation): ScriptedReply => {
  const { task, turn, tools } = conversation;
  const [last] = (turn === 0 ? [] : conversation.lastResults()) as Shown[];
  const orderId = /\d+/.exec(task)?.[0] ?? '1042';
  switch (task.split(' ')[0]) {
    case 'Refund':
      if (!last) return { calls: [{ tool: 'refund_order', input: { orderId } }] };
      return { text: last.status === 'succeeded' ? `Order ${orderId} is refunded.` : 'Please sign in again first.' };
    case 'Find':
      if (JSON.stringify(last?.data ?? '').includes('tea pot')) return { text: 'There is a tea pot.' };
      if (tools.length === 0) return { text: 'I could not find out.' };
      return { calls: [{ tool: 'search_stock', input: { words: 'tea', page: 2 } }] };
    case 'Label':
      if (!last) return { calls: [{ tool: 'print_label', input: { orderId } }] };
      return { text: last.status === 'succeeded' ? 'The label is printed.' : 'Please look at the printer.' };
    case 'Track':
      if (!last) return { calls: [{ tool: 'track_parcel', input: { parcelId: orderId } }] };
      return { text: `Parcel ${orderId} has arrived.` };
    default:
      // Four labels, one a turn.
      if (tools.length === 0) return { text: `${String(turn)} labels are printed, the others are not.` };
      if (turn === 4) return { text: 'All four labels are printed.' };
      return { calls: [{ tool: 'print_label', input: { orderId: String(2001 + turn) } }] };
  }
};
