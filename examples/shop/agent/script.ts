/**
 * What the scripted model does with the demo's task: a pure function of the tool calls that were answered so far. It
 * reads results as a model would and takes another way where one is refused; where something may have happened, it looks
 * before it asks again.
 */
import { Conversation, GivenUp, type Exchange, type ScriptedTurn, type Wanted } from './conversation.ts';

/** The demo's customer, and how many days back `recent` reaches. */
const email = 'maya.lindqvist@example.com';
const recentDays = 60;
/** The shop's code for `customer no longer wants it`. */
const returnReason = 'changed_mind';

interface Customer {
  id: string;
  name: string;
}

interface Order {
  id: string;
  totalCents: number;
  paymentId: string;
  refundedCents: number;
}

/** What became of one order. */
interface Settled {
  order: Order;
  /** Absent where it was cancelled. */
  returnId?: string;
}

/** The next turn; one without calls ends the run. */
export function nextTurn(exchanges: Exchange[]): ScriptedTurn {
  try {
    return workOnCase(new Conversation(exchanges));
  } catch (error) {
    if (error instanceof GivenUp) return { text: error.message, calls: [] };
    throw error;
  }
}

function workOnCase(talk: Conversation): ScriptedTurn {
  const found = talk.want('find_customer', { email });
  if (!found.succeeded) return ask('I look the customer up by her e-mail address.', found);
  const customer = found.data<Customer[]>()[0];
  if (!customer) throw new GivenUp(`No customer has the address ${email}.`);

  const listed = talk.want('list_orders', { customerId: customer.id, days: recentDays });
  if (!listed.succeeded) return ask(`She is customer ${customer.id}. I look for her recent orders.`, listed);
  const open = listed.data<{ id: string; status: string }[]>().filter(({ status }) => status === 'processing');

  const details = open.map(({ id }) => talk.want('get_order', { orderId: id }));
  const unread = details.filter(({ succeeded }) => !succeeded);
  if (unread.length > 0) return ask('I read the orders that may not have shipped, side by side.', ...unread);
  const orders = details.map((detail) => detail.data<Order>());

  const cancellations = orders.map(({ id }) => talk.want('cancel_order', { orderId: id }));
  const undecided = cancellations.filter(({ succeeded, refused }) => !succeeded && !refused);
  if (undecided.length > 0) return ask('Neither has shipped, as far as I can see: I cancel both.', ...undecided);

  const returns = orders.map(({ id }, at) => (cancellations[at]?.refused ? wantReturn(talk, id) : undefined));
  const unasked = returns.filter((wanted) => wanted !== undefined && !wanted.succeeded) as Wanted[];
  if (unasked.length > 0) {
    const isCorrected = unasked.some(({ call }) => call.args['reason'] === returnReason);
    const text = isCorrected
      ? 'The shop wants one of its own reasons: I give it the one that fits.'
      : 'One has left the house already, so I ask for a return of it.';
    return ask(text, ...unasked);
  }
  const settled = orders.map((order, at): Settled => {
    const opened = returns[at]?.data<{ id: string }>();
    return opened ? { order, returnId: opened.id } : { order };
  });

  return refundAll(talk, settled) ?? closeCase(talk, customer, settled);
}

/** The first try gives the reason in words of its own, as models do; the shop wants one of its codes, and says so. */
function wantReturn(talk: Conversation, orderId: string): Wanted {
  const inWords = talk.want('request_return', { orderId, reason: 'customer no longer wants it' });
  return inWords.failed ? talk.want('request_return', { orderId, reason: returnReason }) : inWords;
}

function refundAll(talk: Conversation, settled: Settled[]): ScriptedTurn | undefined {
  const [first] = settled;
  if (!first) return undefined;
  // The slip that the demo shows: an amount in words, in a field that the tool does not have.
  const amount = euros(first.order.totalCents);
  const slip = talk.want('refund_payment', { paymentId: first.order.paymentId, amount, reason: 'order was cancelled' });
  if (!slip.failed) return ask('Now the money, the cancelled order first.', slip);

  const open = settled.flatMap((one) => wantRefund(talk, one) ?? []);
  return open.length > 0 ? ask('The amount goes in cents. I refund both orders.', ...open) : undefined;
}

/** `undefined` once the money is back. Where a refund may have gone through, the order tells. */
function wantRefund(talk: Conversation, { order, returnId }: Settled): Wanted | undefined {
  const reason = returnId === undefined ? 'order was cancelled' : 'order is being returned';
  const args = { paymentId: order.paymentId, amountCents: order.totalCents, reason };
  const refund = talk.want('refund_payment', args);
  if (refund.succeeded) return undefined;
  if (!refund.mayHaveHappened) return refund;
  const check = talk.want('get_order', { orderId: order.id }, refund.lastAt);
  if (!check.succeeded) return check;
  return check.data<Order>().refundedCents >= order.totalCents ? undefined : refund;
}

function closeCase(talk: Conversation, customer: Customer, settled: Settled[]): ScriptedTurn {
  const codes: (string | undefined)[] = [];
  for (const { returnId } of settled) {
    if (returnId === undefined) continue;
    const label = talk.want('print_return_label', { returnId });
    if (!label.failed && !label.succeeded) return ask('The return needs a label.', label);
    if (label.succeeded) {
      codes.push(label.data<{ trackingCode: string }>().trackingCode);
      continue;
    }
    // Nothing tells a second label from a first one, so it is not printed again: a label that is not there yet may still
    // come out of the printer.
    const printed = talk.want('find_return_labels', { returnId }, label.lastAt);
    if (!printed.succeeded) return ask('The label may be printed already: I look before I do anything else.', printed);
    codes.push(printed.data<{ trackingCode: string }[]>()[0]?.trackingCode);
  }

  const body = summaryFor(customer, settled, codes);
  const message = talk.want('send_message', { customerId: customer.id, subject: 'Your recent orders', body });
  if (message.succeeded) return { text: body, calls: [] };
  if (message.mayHaveHappened)
    throw new GivenUp(`Everything is settled, but she may not have got my message:\n${body}`);
  return ask('All is settled. I write to the customer.', message);
}

function summaryFor(customer: Customer, settled: Settled[], codes: (string | undefined)[]): string {
  const orders = settled.map(({ order, returnId }) =>
    returnId === undefined
      ? `Order ${order.id} had not shipped yet: it is cancelled, and ${euros(order.totalCents)} are on their way back.`
      : `Order ${order.id} is on its way to you: you can send it back, and ${euros(order.totalCents)} are refunded.`,
  );
  const labels = codes.map((code) =>
    code === undefined
      ? 'A colleague will send you the return label.'
      : `Your return label is printed; its tracking code is ${code}.`,
  );
  return [`Dear ${customer.name},`, ...orders, ...labels, 'Your shop'].join('\n');
}

function ask(text: string, ...wanted: Wanted[]): ScriptedTurn {
  return { text, calls: wanted.map((one) => one.ask()) };
}

function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}
