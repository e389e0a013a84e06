import { opsSite, type OpsSite } from './ops-site.ts';

export interface BrokenShop extends AsyncDisposable {
  readonly site: OpsSite;
  readonly mend: () => void;
}

export const ORDER = 'ord_43';
export const WHY = `Cannot read properties of undefined (reading 'vat') for ${ORDER}`;

export async function brokenShop(): Promise<BrokenShop> {
  let broken = true;
  const site = await opsSite({
    handlers: {
      'order.created': ({ data }) => {
        if (broken && data.currency === 'CHF') {
          throw new TypeError(`Cannot read properties of undefined (reading 'vat') for ${data.id ?? ''}`);
        }
      },
      'order.ready': () => {
        if (broken) throw new Error('the stock system answered 503');
      },
      '*': () => {},
    },
  });
  await site.receiver.start();
  for (const [order, currency] of [
    ['ord_41', 'CHF'],
    ['ord_42', 'EUR'],
    [ORDER, 'CHF'],
    ['ord_44', 'CHF'],
  ] as const) {
    await site.deliver(orderEvent(order, 'order.created', currency));
  }
  await site.deliver(orderEvent('ord_42', 'order.ready'));
  await site.deliver(orderEvent('ord_42', 'order.completed'));
  await site.deliver('{"id":"evt_invalid","type":"order.created","created":"yesterday","data":{}}');
  await site.handled();
  return { site, mend: () => void (broken = false), [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() };
}

export function orderEvent(order: string, type: string, currency = 'EUR'): string {
  return (
    `{"id":"${eventOf(order, type)}","type":"${type}","created":"2026-03-14T08:02:11.480Z","data":{"object":"order",` +
    `"id":"${order}","merchant_id":"mer_7","total":42.50,"currency":"${currency}","items":[]}}`
  );
}

export function eventOf(order: string, type: string): string {
  return `evt_${order}_${type.replace('order.', '')}`;
}
