import { describe, expect, it } from 'vitest';
import type { Exchange, ScriptedCall, ToolResult } from '../../../../examples/shop/agent/conversation.js';
import { nextTurn } from '../../../../examples/shop/agent/script.js';

const succeeded = (data: unknown): ToolResult => ({ status: 'succeeded', data });
const failed = (error_type: string, more: Partial<ToolResult> = {}): ToolResult => ({
  status: 'failed',
  error_type,
  message: `It failed with ${error_type}.`,
  retryable: false,
  effect_state: 'none',
  ...more,
});

const order = (id: string, totalCents: number, refundedCents = 0) =>
  succeeded({ id, totalCents, refundedCents, paymentId: `pay_${id}` });

type Answers = Record<string, (call: ScriptedCall, times: number) => ToolResult>;

/** A shop in which all goes well, apart from what the script brings about itself. */
const shop: Answers = {
  find_customer: () => succeeded([{ id: 'cus_301', name: 'Maya Lindqvist' }]),
  list_orders: () =>
    succeeded([
      { id: '1042', status: 'processing' },
      { id: '1038', status: 'processing' },
      { id: '1001', status: 'delivered' },
    ]),
  get_order: ({ args }) => (args['orderId'] === '1042' ? order('1042', 8900) : order('1038', 6450)),
  cancel_order: ({ args }) =>
    args['orderId'] === '1042' ? succeeded({ id: '1042', status: 'cancelled' }) : failed('business_rule_violation'),
  request_return: ({ args }) =>
    args['reason'] === 'changed_mind' ? succeeded({ id: 'ret_1038' }) : failed('validation_error'),
  refund_payment: ({ args }) => ('amountCents' in args ? succeeded({ id: 'rf_1' }) : failed('validation_error')),
  print_return_label: () => succeeded({ trackingCode: 'RL000001EU' }),
  send_message: () => succeeded({ id: 1 }),
};

/** Plays the conversation to its end. */
function play(answers: Answers) {
  const exchanges: Exchange[] = [];
  const turns: string[][] = [];
  for (let turn = 0; turn < 40; turn += 1) {
    const { text, calls } = nextTurn(exchanges);
    if (calls.length === 0) return { turns, answer: text, exchanges };
    turns.push(calls.map(({ tool, args }) => [tool, args['orderId'] ?? args['paymentId']].filter(Boolean).join(' ')));
    const answered = calls.map((call) => {
      const answer = answers[call.tool];
      if (!answer) throw new Error(`the shop has no ${call.tool}`);
      const times = exchanges.filter(({ tool }) => tool === call.tool).length + 1;
      return { ...call, result: answer(call, times) };
    });
    exchanges.push(...answered);
  }
  throw new Error('the script does not end');
}

describe('the scripted model', () => {
  it('does the whole task, corrects its two slips, and reads side by side', () => {
    const { turns, answer } = play(shop);
    expect(turns).toEqual([
      ['find_customer'],
      ['list_orders'],
      ['get_order 1042', 'get_order 1038'],
      ['cancel_order 1042', 'cancel_order 1038'],
      ['request_return 1038'],
      ['request_return 1038'],
      ['refund_payment pay_1042'],
      ['refund_payment pay_1042', 'refund_payment pay_1038'],
      ['print_return_label'],
      ['send_message'],
    ]);
    expect(answer).toBe(
      [
        'Dear Maya Lindqvist,',
        'Order 1042 had not shipped yet: it is cancelled, and 89.00 EUR are on their way back.',
        'Order 1038 is on its way to you: you can send it back, and 64.50 EUR are refunded.',
        'Your return label is printed; its tracking code is RL000001EU.',
        'Your shop',
      ].join('\n'),
    );
  });

  it('asks again where the failure says that it may help, and four times at most', () => {
    const down = failed('external_service_unavailable', { retryable: true });
    const once = play({
      ...shop,
      list_orders: (call, times) => (times === 1 ? down : shop['list_orders']!(call, times)),
    });
    expect(once.turns.filter(([first]) => first === 'list_orders')).toHaveLength(2);
    const never = play({ ...shop, list_orders: () => down });
    expect(never.turns.filter(([first]) => first === 'list_orders')).toHaveLength(4);
    expect(never.answer).toBe(
      'I could not finish, because list_orders failed. It failed with external_service_unavailable.',
    );
  });

  it('looks at the order before it repeats a refund that may have happened', () => {
    const lost = failed('timeout', { retryable: true, effect_state: 'unknown' });
    const isFirstRefund = (call: ScriptedCall) => 'amountCents' in call.args && call.args['paymentId'] === 'pay_1042';
    let refunds = 0;
    const refund_payment = (call: ScriptedCall) => {
      if (!isFirstRefund(call)) return shop['refund_payment']!(call, 1);
      refunds += 1;
      return refunds === 1 ? lost : succeeded({ id: 'rf_2' });
    };
    const happened = play({
      ...shop,
      refund_payment,
      get_order: (call, times) => (times > 2 ? order('1042', 8900, 8900) : shop['get_order']!(call, times)),
    });
    expect(happened.turns.slice(7, 9)).toEqual([
      ['refund_payment pay_1042', 'refund_payment pay_1038'],
      ['get_order 1042'],
    ]);
    expect(refunds).toBe(1);

    refunds = 0;
    const didNot = play({ ...shop, refund_payment });
    expect(didNot.turns.slice(8, 10)).toEqual([['get_order 1042'], ['refund_payment pay_1042']]);
    expect(refunds).toBe(2);
  });

  it('never prints a second label after an unknown outcome', () => {
    const unknown = failed('outcome_unknown', { effect_state: 'unknown' });
    const found = play({
      ...shop,
      print_return_label: () => unknown,
      find_return_labels: () => succeeded([{ trackingCode: 'RL000007EU' }]),
    });
    expect(found.turns.slice(8)).toEqual([['print_return_label'], ['find_return_labels'], ['send_message']]);
    expect(found.answer).toContain('its tracking code is RL000007EU');

    const none = play({ ...shop, print_return_label: () => unknown, find_return_labels: () => succeeded(null) });
    expect(none.turns.filter(([first]) => first === 'print_return_label')).toHaveLength(1);
    expect(none.answer).toContain('A colleague will send you the return label.');
  });

  it('stops where a refusal leaves no other way', () => {
    const refused = play({ ...shop, send_message: () => failed('permission_denied') });
    expect(refused.answer).toBe('I could not finish, because send_message failed. It failed with permission_denied.');
  });
});
