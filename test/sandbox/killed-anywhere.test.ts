import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { FaultPlan } from '../../src/sender/faults.ts';
import { addDeliveryFault } from '../../src/sandbox/deliveries.ts';
import { listDeliveries } from '../../src/sandbox/delivery-list.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { HOUR, MINUTE, openShop, SECRET, START, type Shop } from './shop.ts';

const END = START + 48 * HOUR;
const UP_FROM = START + 100 * MINUTE;

/** Put off before they are made. */
const faults: FaultPlan = (id, attempt) =>
  attempt === 2 && id.charCodeAt(4) % 2 === 0 ? [{ kind: 'late', ms: 90_000 }] : [];

/** The receiver is down for a while, and refuses one event for good. */
function open(file: string): { readonly shop: Shop; readonly arrived: string[] } {
  const arrived: string[] = [];
  const to = async (request: Request): Promise<Response> => {
    const { id, data } = (await request.json()) as { id: string; data: { previous_quantity: number } };
    arrived.push(id);
    const isRefused = data.previous_quantity === 999_998;
    return new Response(null, { status: isRefused || shop.store.clock.now() < UP_FROM ? 503 : 200 });
  };
  const shop = openShop({ webhooks: [{ to, secret: SECRET }], file, faults });
  return { shop, arrived };
}

function outcome({ store }: Shop) {
  return {
    deliveries: listDeliveries(store),
    ...Object.fromEntries(
      ['sales', 'events', 'tries', 'due', 'delivery_faults'].map((table) => [
        table,
        store.all(`SELECT * FROM ${table}`),
      ]),
    ),
  };
}

it('whichever commit is the last before a kill, the rest happens as if there had been none', async () => {
  const folder = scratchFolder();
  const { shop, arrived } = open(join(folder, 'whole.db'));
  for (const minute of [0, 0, 3, 50, 95, 200]) shop.sellAt(START + minute * MINUTE);
  shop.store.write((transaction) => addDeliveryFault(transaction, 'lost-answer', 2));

  // A process that is killed after a commit leaves these files.
  const left: { readonly file: string; readonly arrived: number }[] = [];
  shop.store.onCommit(() => {
    const file = join(folder, `after-${left.length}.db`);
    for (const suffix of ['', '-wal']) {
      const from = join(folder, `whole.db${suffix}`);
      if (existsSync(from)) copyFileSync(from, `${file}${suffix}`);
    }
    left.push({ file, arrived: arrived.length });
  });
  await shop.dispatch.advance('48 h');
  const whole = outcome(shop);
  await shop[Symbol.asyncDispose]();
  expect(whole.deliveries.filter(({ state }) => state === 'dead')).toHaveLength(1);
  expect(whole.deliveries.filter(({ state }) => state === 'delivered')).toHaveLength(5);
  expect(left.length).toBeGreaterThan(30);

  for (const { file, arrived: before } of left) {
    const resumed = open(file);
    const { store, dispatch } = resumed.shop;
    await dispatch.advance(END - store.clock.now());
    expect(outcome(resumed.shop)).toEqual(whole);
    // The delivery under way comes again.
    const next = arrived.slice(before);
    expect([next, arrived.slice(before - 1)]).toContainEqual(resumed.arrived);
    await resumed.shop[Symbol.asyncDispose]();
  }
});
