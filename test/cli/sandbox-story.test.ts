import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freePort } from '../helpers/free-port.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { ORDER, sandboxing } from './sandboxing.ts';
import { serving, type Running } from './serving.ts';

const LOCATION = 'loc_bakery_pier';
const LOAF = 'prod_country_loaf';
const CAKE = 'prod_wedding_cake';

/** Says what it handles, and leaves the rest to hookbox. */
const HANDLERS = `export default { '*': ({ type, data }) => console.log('handled', type, data.id ?? data.product_id) };`;

/** What was handled about each thing. */
type Handled = Readonly<Record<string, readonly string[]>>;

function bySubject(events: readonly string[]): Handled {
  return Object.groupBy(events, (event) => event.slice(event.indexOf(' ') + 1)) as Handled; // no key without a list
}

/** `hookbox serve` in a process of its own, which goes away and comes back with its file and its port. */
async function shop(port: number) {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'handlers.mjs'), HANDLERS);
  const runs: Running[] = [];
  const come = async (): Promise<void> => {
    runs.push(await serving(['handlers.mjs', '--port', String(port)], { cwd }));
  };
  await come();
  const answers = () => runs.flatMap(({ stdout }) => stdout).filter((line) => !line.includes(' handler '));
  let told = 0;
  return {
    come,
    go: async (): Promise<void> => void (await runs.at(-1)?.stop('SIGTERM')),
    answers,
    /** the types of what it has stored, in this order */
    stored: () => answers().map((line) => / stored (\S+)/.exec(line)?.[1] ?? line),
    /** `type subject` of so many more events that were handled, once they were: what is about one thing is handled in order */
    async handled(count: number): Promise<Handled> {
      const all = () => runs.flatMap(({ stderr }) => stderr).flatMap((line) => /^handled (.*)$/.exec(line)?.[1] ?? []);
      await expect.poll(() => all().length).toBeGreaterThanOrEqual(told + count);
      const more = all().slice(told);
      told += more.length;
      return bySubject(more);
    },
  };
}

it('the story of the shop, by the command over real HTTP: down for two hours, dead-lettered, retried from a shell', async () => {
  const port = await freePort();
  const merchant = await shop(port);
  const to = `http://localhost:${port}/webhooks`;
  const sandbox = await sandboxing(['--clock', 'frozen', '--to', to]);
  const advance = async (duration: string): Promise<void> =>
    expect(await sandbox.steer(['advance', duration])).toMatchObject({ code: 0 });
  const place = async (product_id: string, quantity: number): Promise<string> =>
    (await sandbox.call<{ id: string }>('POST', '/order', { ...ORDER, items: [{ product_id, quantity }] })).id;
  const pay = (order: string, payment_method_id: string) =>
    sandbox.call<unknown>('POST', `/order/${order}/submit`, { payment_method_id });

  // A cart with items, which is forgotten; most of the bread, and the only cake.
  const newCart = { user_id: 'usr_1', location_id: LOCATION, fulfillment_method: 'Pickup' };
  const cart = await sandbox.call('POST', '/cart', newCart);
  await sandbox.call('POST', `/cart/${cart}/item`, { product_id: LOAF, product_name: 'Country loaf', quantity: 2 });
  const bread = await place(LOAF, 35);
  const cake = await place(CAKE, 1);
  expect(await pay(bread, 'pm_declined')).toBe('422 PAYMENT_FAILED');
  expect(await pay(bread, 'pm_ok')).toMatchObject({ id: bread });
  expect(await pay(cake, 'pm_ok')).toMatchObject({ id: cake });
  expect(await pay(bread, 'pm_ok')).toBe('409 RESOURCE_CONFLICT');

  await advance('10 min');
  const opened = [
    `order.created ${bread}`,
    `order.created ${cake}`,
    `inventory.updated ${LOAF}`,
    `inventory.low_stock ${LOAF}`,
    `inventory.updated ${CAKE}`,
    `inventory.out_of_stock ${CAKE}`,
    `order.confirmed ${bread}`,
    `order.confirmed ${cake}`,
  ];
  expect(await merchant.handled(opened.length)).toEqual(bySubject(opened));

  // The shop is down for two hours. What happens meanwhile comes by the schedule of each event.
  await merchant.go();
  await advance('2 h');
  await merchant.come();
  await advance('8 h');
  const late = [
    `cart.abandoned ${cart}`,
    `order.ready ${bread}`,
    `order.ready ${cake}`,
    `order.completed ${bread}`,
    `order.completed ${cake}`,
  ];
  expect(await merchant.handled(late.length)).toEqual(bySubject(late));

  // It is away for days, until the service gives up.
  await merchant.go();
  await advance('3 d');
  expect(await sandbox.call('GET', `/cart/${cart}`)).toMatchObject({ status: 'Cancelled' });
  const [dead = '', ...others] = (await sandbox.steer(['list', 'dead-letters', '--json'])).stdout.trim().split('\n');
  const letter = JSON.parse(dead) as { id: number; tries: number; event: { type: string } };
  expect([letter.event.type, letter.tries, others.length]).toEqual(['cart.expires_soon', 7, 0]);
  await merchant.come();
  expect(await sandbox.steer(['retry', String(letter.id)])).toMatchObject({
    code: 0,
    stdout: `${letter.id} delivered\n`,
  });
  const last = [`cart.expires_soon ${cart}`];
  expect(await merchant.handled(1)).toEqual(bySubject(last));

  // Nothing else waits, and nothing comes a second time.
  await advance('30 d');
  await merchant.go();
  expect(await merchant.handled(0)).toEqual({});
  expect(merchant.answers().filter((line) => !/ 200 stored /.test(line))).toEqual([]);
  const inOrder = [...opened, ...late, ...last].map((event) => event.slice(0, event.indexOf(' ')));
  expect(merchant.stored()).toEqual(inOrder);
  const tries = sandbox.tries();
  // 8 at once; of four 6 tries, of one 5, of one 7 and that by hand.
  expect(tries).toHaveLength(8 + 4 * 6 + 5 + 7 + 1);
  expect(tries.filter(({ state }) => state === 'delivered')).toHaveLength(14);
  expect(await sandbox.stop('SIGTERM')).toMatchObject({ code: 0 });
});
