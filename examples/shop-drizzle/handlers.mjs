import { lt } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { RetryLaterError } from 'hookbox';
import { createClient } from 'hookbox/client';
import { orders, stock } from './tables.mjs';

const service = createClient({ apiKey: () => process.env.API_KEY ?? '', baseUrl: process.env.SERVICE_URL });

/** Each order is written exactly once, with Drizzle. */
async function keepOrder({ data }, ctx) {
  await ctx.transaction((database) => {
    const order = { id: String(data.id), total: data.total };
    drizzle({ client: database }).insert(orders).values(order).onConflictDoNothing().run();
  });
}

/** Of the waiting figures of a product, only the newest runs. An older one may still arrive later, and changes nothing. */
async function keepStock({ created, data }, ctx) {
  await ctx.transaction((database) => {
    const figure = { quantity: data.current_quantity ?? 0, at: Date.parse(created) };
    drizzle({ client: database })
      .insert(stock)
      .values({ product: String(data.product_id), ...figure })
      .onConflictDoUpdate({ target: stock.product, set: figure, setWhere: lt(stock.at, figure.at) })
      .run();
  });
}

/** Two steps. If the second one fails, the next attempt does not send the mail again. */
async function tellCustomer(event, ctx) {
  await ctx.once('mail', () => post('mail', event, ctx.signal));
  await ctx.once('points', () => post('points', event, ctx.signal));
}

/** Orders more of a product from the service, once for each event. */
async function orderMore({ data }, ctx) {
  await ctx.once('order', async () => {
    const { data: order } = await service.createOrder({
      customer: { id: 'usr_shop', name: 'The shop' },
      items: [{ product_id: String(data.product_id), quantity: 10 }],
      location_id: String(data.location_id),
      fulfillment_method: 'Delivery',
    });
    return { order: order.id };
  });
}

async function post(path, { id, data }, signal) {
  const answer = await fetch(new URL(path, process.env.PROVIDER_URL), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `${id} ${path}` },
    body: JSON.stringify({ order: data.id, user: data.user_id }),
    signal,
  });
  await answer.body?.cancel();
  const wait = Number(answer.headers.get('Retry-After'));
  // The provider says how long it is away: the whole type waits, and no attempt is used up.
  if (answer.status === 503 && wait > 0) {
    throw new RetryLaterError({ afterMs: wait * 1_000, countAttempt: false, pauseType: true });
  }
  if (!answer.ok) throw new Error(`the provider answered ${answer.status}`);
}

export const handlers = {
  'order.created': keepOrder,
  'order.ready': { handle: tellCustomer, breaker: { failures: 5, probeMs: 30_000 } },
  'inventory.updated': { handle: keepStock, latest: true },
  'inventory.low_stock': orderMore,
};
