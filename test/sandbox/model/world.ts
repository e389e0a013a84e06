import { isDeepStrictEqual } from 'node:util';
import type { createSandbox } from '../../../src/sandbox/index.ts';
import { PIER, Service, type Answer } from '../service.ts';
import { ServiceModel, type Told } from './service-model.ts';
import { Violation, type PromiseName } from './violation.ts';

export class World implements AsyncDisposable {
  readonly service: Service;
  readonly model: ServiceModel;
  commands = 0;

  readonly #onEvent: (type: string) => void;

  constructor(create: typeof createSandbox, onEvent: (type: string) => void) {
    this.#onEvent = onEvent;
    this.service = new Service({ plan: 'Enterprise' }, create);
    this.model = new ServiceModel(this.service.sandbox.now().getTime());
  }

  /** @returns `data` if it succeeds */
  async call(expected: Told, method: string, path: string, body: object): Promise<unknown> {
    return this.judge(expected, await this.service.call(method, path, body), `${method} ${path}`);
  }

  judge(expected: Told, { status, body }: Answer, what: string): unknown {
    this.must('answers are what the state says', body.error?.['code'] ?? status, expected, what);
    return body.data;
  }

  must(promise: PromiseName, is: unknown, shouldBe: unknown, what: string): void {
    if (isDeepStrictEqual(is, shouldBe)) return;
    throw new Violation(promise, `${what}: ${JSON.stringify(is)}, and not ${JSON.stringify(shouldBe)}`);
  }

  async check(): Promise<void> {
    const { sandbox } = this.service;
    const { model } = this;
    const stock = sandbox.stock.list().filter(({ locationId }) => locationId === PIER);
    for (const [product, quantity] of model.stock) {
      const is = stock.find(({ productId }) => productId === product)?.quantity;
      this.must('stock is what nobody has taken', is, quantity, product);
    }
    const orders = sandbox.orders.list(1_000).toReversed();
    this.must(
      'orders go as they may',
      orders.map(({ id, status, isSubmitted, total }) => [id, status, isSubmitted, total]),
      model.orders.map(({ id, status, isSubmitted, cents }) => [id, status, isSubmitted, cents / 100]),
      'orders',
    );
    for (const { id, charges, cents } of model.orders) {
      const is = sandbox.orders.charges(id).map(({ state, amount }) => [state, amount]);
      const shouldBe = charges.map((state) => [state, cents / 100]);
      this.must('charged once, and given back', is, shouldBe, id);
    }
    for (const { id, status, items } of model.carts) {
      const is = await this.service.data<{ status: string; items: Record<string, unknown>[] }>('GET', `/cart/${id}`);
      this.must(
        'carts are what their clients made them',
        [is.status, is.items.map((item) => [item['id'], item['product_id'], item['quantity']])],
        [status, items.map((item) => [item.id, item.product, item.quantity])],
        id,
      );
    }
    await this.#checkEvents();
  }

  async #checkEvents(): Promise<void> {
    const expected = this.model.events.splice(0);
    for (const { type } of expected) this.#onEvent(type);
    const seen = await this.service.events();
    const is = seen.map(({ type, created, data }, at) => ({
      type,
      about: data['id'] ?? data['product_id'],
      created: Date.parse(created),
      says: Object.fromEntries(Object.keys(expected[at]?.says ?? {}).map((field) => [field, data[field]])),
    }));
    this.must('each event once, in order', is, expected, 'events');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
  }
}
