import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A stand-in for your own backend: three orders, and two files that remember what was done. */
export function openShop(folder: string) {
  const orders = [
    { orderId: '1041', item: 'tea pot', totalCents: 3900 },
    { orderId: '1042', item: 'kettle', totalCents: 8900 },
    { orderId: '1043', item: 'cups', totalCents: 2400 },
  ];
  const refunds = list<{ key: string; orderId: string; amountCents: number }>(join(folder, 'refunds.json'));
  const labels = list<{ request: string; orderId: string; labelId: string }>(join(folder, 'labels.json'));
  return {
    order: (orderId: string) => orders.find((order) => order.orderId === orderId),

    refund(refund: { key: string; orderId: string; amountCents: number }) {
      if (!refunds.read().some(({ key }) => key === refund.key)) refunds.add(refund);
      return { refunded: refund.amountCents, orderId: refund.orderId };
    },

    printLabel({ orderId, request }: { orderId: string; request: string }) {
      const label = { request, orderId, labelId: `L${labels.read().length + 1}` };
      labels.add(label);
      return { labelId: label.labelId };
    },

    label(request: string) {
      const found = labels.read().find((label) => label.request === request);
      return found && { labelId: found.labelId };
    },

    /** What really happened. */
    journal: () => ({ refunds: refunds.read(), labels: labels.read() }),
  };
}

export type Shop = ReturnType<typeof openShop>;

function list<Entry>(file: string) {
  const read = (): Entry[] => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Entry[]) : []);
  return {
    read,
    add(entry: Entry) {
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, JSON.stringify([...read(), entry], null, 2));
    },
  };
}
