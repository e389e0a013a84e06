import { setTimeout as delay } from 'node:timers/promises';

/** How long each statement takes, as over a network. */
const LATENCY_MS = 20;

/** Stands in for the database of a shop: asynchronous, and its unique key holds when two insert at once. */
export class PretendDatabase {
  readonly #events = new Set<string>();
  readonly #orders: string[] = [];

  async hasEvent(id: string): Promise<boolean> {
    await delay(LATENCY_MS);
    return this.#events.has(id);
  }

  /** `INSERT INTO events … ON CONFLICT DO NOTHING`, and whether a row was inserted. */
  async insertEvent(id: string): Promise<boolean> {
    await delay(LATENCY_MS);
    const isNew = !this.#events.has(id);
    this.#events.add(id);
    return isNew;
  }

  async bookOrder(eventId: string): Promise<void> {
    await delay(LATENCY_MS);
    this.#orders.push(eventId);
  }

  whatBecameOf(id: string): { readonly rows: number; readonly count: number } {
    return { rows: this.#events.has(id) ? 1 : 0, count: this.#orders.filter((one) => one === id).length };
  }
}
