import * as fc from 'fast-check';
import { NEW_CART, NEW_ORDER, PIER } from '../service.ts';
import { PRODUCTS, type ModelLine, type OrderStatus } from './service-model.ts';
import type { World } from './world.ts';

export interface Model {
  readonly world: World;
}

/** Compares everything with the model afterwards. */
class Step implements fc.AsyncCommand<Model, World> {
  readonly #name: string;
  readonly #run: (world: World) => Promise<void> | void;

  constructor(name: string, run: (world: World) => Promise<void> | void) {
    this.#name = name;
    this.#run = run;
  }

  check(): boolean {
    return true;
  }

  async run(_: Model, world: World): Promise<void> {
    world.commands += 1;
    await this.#run(world);
    await world.check();
  }

  toString(): string {
    return this.#name;
  }
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const nth = fc.nat(7);
const line = fc.record({
  product: fc.constantFrom(...PRODUCTS.map(({ id }) => id)),
  quantity: fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 2, max: 9 }) },
  ),
});
const lines = fc.array(line, { minLength: 1, maxLength: 3 });
const method = fc.constantFrom('pm_ok', 'pm_ok', 'pm_declined', 'pm_insufficient_funds', 'pm_expired');

export function histories(): fc.Arbitrary<Iterable<fc.AsyncCommand<Model, World>>> {
  const advances = [1_000, MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR, 23 * HOUR].map((ms) =>
    fc.constant(new Step(`advance ${ms} ms`, (world) => advance(world, ms))),
  );
  return fc.commands(
    [
      fc.constant(new Step('create a cart', createCart)),
      ...twice(
        fc
          .tuple(nth, line)
          .map(
            ([at, item]) => new Step(`add ${JSON.stringify(item)} to cart ${at}`, (world) => addItem(world, at, item)),
          ),
      ),
      fc
        .tuple(nth, nth, fc.integer({ min: 1, max: 9 }))
        .map(
          ([at, item, n]) => new Step(`set item ${item} of cart ${at} to ${n}`, (world) => setItem(world, at, item, n)),
        ),
      fc
        .tuple(nth, fc.constantFrom('Active', 'Submitted', 'Cancelled'))
        .map(([at, status]) => new Step(`set cart ${at} ${status}`, (world) => setCart(world, at, status))),
      ...twice(
        fc
          .tuple(lines, fc.boolean(), fc.constantFrom(0, 150, 333))
          .map(
            ([items, isDelivered, tip]) =>
              new Step(`order ${JSON.stringify(items)}`, (world) => createOrder(world, items, isDelivered, tip)),
          ),
      ),
      ...twice(
        fc
          .tuple(nth, method)
          .map(([at, how]) => new Step(`submit ${at} with ${how}`, (world) => submit(world, at, how))),
      ),
      fc
        .tuple(nth, nth)
        .map(
          ([one, other]) => new Step(`submit ${one} and ${other} at once`, (world) => submitBoth(world, one, other)),
        ),
      fc
        .tuple(nth, fc.constantFrom('confirmed', 'ready', 'completed', 'cancelled', 'failed'))
        .map(([at, to]) => new Step(`move ${at} to ${to}`, (world) => move(world, at, to))),
      fc
        .tuple(nth, fc.integer({ min: 0, max: 12 }))
        .map(([at, n]) => new Step(`set stock ${at} to ${n}`, (world) => setStock(world, at, n))),
      fc.constant(
        new Step('have the next charge declined', ({ service, model }) => {
          service.sandbox.faults.add({ kind: 'decline' });
          model.declines += 1;
        }),
      ),
      fc.constant(
        new Step('have the next order fail', ({ service, model }) => {
          service.sandbox.faults.add({ kind: 'fail-order' });
          model.failures += 1;
        }),
      ),
      ...advances,
    ],
    { maxCommands: 60, size: 'max' },
  );
}

function twice<T>(one: T): readonly [T, T] {
  return [one, one];
}

function pick<T>(list: readonly T[], at: number): T | undefined {
  return list[at % Math.max(list.length, 1)];
}

async function advance({ service, model }: World, ms: number): Promise<void> {
  model.advance(ms);
  await service.sandbox.advance(ms);
}

async function createCart(world: World): Promise<void> {
  world.model.cartMade(String(await world.call(201, 'POST', '/cart', NEW_CART)));
}

async function addItem(world: World, at: number, { product, quantity }: ModelLine): Promise<void> {
  const cart = pick(world.model.carts, at);
  if (cart === undefined) return;
  const expected = world.model.mayChangeItems(cart, 201);
  const body = { product_id: product, product_name: 'as the client says', quantity };
  const id = await world.call(expected, 'POST', `/cart/${cart.id}/item`, body);
  if (expected === 201) world.model.itemAdded(cart, String(id), { product, quantity });
}

async function setItem(world: World, at: number, which: number, quantity: number): Promise<void> {
  const cart = pick(world.model.carts, at);
  const item = pick(cart?.items ?? [], which);
  if (cart === undefined || item === undefined) return;
  const expected = world.model.mayChangeItems(cart, 200);
  await world.call(expected, 'PUT', `/cart/${cart.id}/item/${item.id}`, { quantity });
  if (expected !== 200) return;
  item.quantity = quantity;
  world.model.touch(cart);
}

async function setCart(world: World, at: number, status: 'Active' | 'Submitted' | 'Cancelled'): Promise<void> {
  const cart = pick(world.model.carts, at);
  if (cart === undefined) return;
  await world.call(world.model.setCart(cart, status), 'PUT', `/cart/${cart.id}`, { status });
}

async function createOrder(
  world: World,
  items: readonly ModelLine[],
  isDelivered: boolean,
  tip: number,
): Promise<void> {
  const expected = world.model.mayOrder(items);
  const order = await world.call(expected, 'POST', '/order', {
    ...NEW_ORDER,
    items: items.map(({ product, quantity }) => ({ product_id: product, quantity })),
    fulfillment_method: isDelivered ? 'Delivery' : 'Pickup',
    tip: tip / 100,
  });
  if (expected === 201) world.model.orderMade((order as { id: string }).id, items, isDelivered, tip);
}

async function submit(world: World, at: number, how: string): Promise<void> {
  const order = pick(world.model.orders, at);
  if (order === undefined) return;
  const expected = world.model.submit(order, how === 'pm_ok');
  await world.call(expected, 'POST', `/order/${order.id}/submit`, { payment_method_id: how });
}

/** The two may be the same. */
async function submitBoth(world: World, one: number, other: number): Promise<void> {
  const orders = [pick(world.model.orders, one), pick(world.model.orders, other)].filter(
    (order) => order !== undefined,
  );
  const path = (id: string): string => `/order/${id}/submit`;
  const answers = orders.map(({ id }) => world.service.call('POST', path(id), { payment_method_id: 'pm_ok' }));
  for (const [at, answer] of (await Promise.all(answers)).entries()) {
    const order = orders[at];
    if (order !== undefined) world.judge(world.model.submit(order, true), answer, path(order.id));
  }
}

function move(world: World, at: number, to: Exclude<OrderStatus, 'created'>): void {
  const order = pick(world.model.orders, at);
  if (order === undefined) return;
  const isLegal = world.model.move(order, to);
  world.must('orders go as they may', isMoved(world, order.id, to), isLegal, `${order.id} to ${to}`);
}

function isMoved({ service }: World, id: string, to: OrderStatus): boolean {
  try {
    service.sandbox.orders.move(id, to);
    return true;
  } catch {
    return false;
  }
}

function setStock({ service, model }: World, at: number, quantity: number): void {
  const product = pick(PRODUCTS, at);
  if (product === undefined) return;
  model.setStock(product.id, quantity);
  service.sandbox.stock.set(PIER, product.id, quantity);
}
