import type { ScriptedConversation, ScriptedReply } from 'perdure/testing';

/** The scripted model: a function of the conversation so far. It refunds the order whose number the task names. */
export default (conversation: ScriptedConversation): ScriptedReply => {
  const orderId = /\d{4}/.exec(conversation.task)?.[0] ?? '1042';
  switch (conversation.turn) {
    case 0:
      return { text: 'I look the order up.', calls: [{ tool: 'find_order', input: { orderId } }] };
    case 1: {
      const [found] = conversation.lastResults() as [{ status: string; data?: { totalCents: number } }];
      if (!found.data) return { text: `There is no order ${orderId}; which one do you mean?` };
      return {
        calls: [
          { tool: 'refund_order', input: { orderId, amountCents: found.data.totalCents } },
          { tool: 'print_label', input: { orderId } },
        ],
      };
    }
    default:
      return { text: `Order ${orderId} is refunded, and its return label is printed.` };
  }
};
