import { noFaults, type FaultPlan } from '../../src/sender/faults.ts';
import { frozenClock, type SandboxClock } from '../../src/sandbox/clock.ts';
import { createDispatch, DISPATCH_TABLES, type Dispatch, type DispatchOptions } from '../../src/sandbox/deliveries.ts';
import { setDue } from '../../src/sandbox/due.ts';
import type { Webhook } from '../../src/sandbox/endpoints.ts';
import { emit } from '../../src/sandbox/events.ts';
import { openStore } from '../../src/sandbox/open-store.ts';
import { type Store, type Transaction } from '../../src/sandbox/store.ts';

/** 2026-01-01T00:00:00Z */
export const START = 1_767_225_600_000;
export const SECRET = 'a secret that only the tests know';
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

const SALES = 'CREATE TABLE sales (n INTEGER PRIMARY KEY, event TEXT NOT NULL, at INTEGER NOT NULL) STRICT;';

export interface Shop extends AsyncDisposable {
  readonly store: Store;
  readonly dispatch: Dispatch;
  /** A row and its event in one transaction. Returns the id of the event. */
  sell(): string;
  sellAt(at: number): void;
  readonly failures: readonly unknown[];
}

export interface ShopOptions extends Partial<Omit<DispatchOptions, 'webhooks' | 'onFailure'>> {
  readonly webhooks?: readonly Webhook[];
  readonly file?: string;
  readonly clock?: SandboxClock;
  readonly seed?: number;
  readonly faults?: FaultPlan;
}

export function openShop(options: ShopOptions = {}): Shop {
  const { webhooks = [], file, clock = frozenClock(START), seed = 1, faults = noFaults, steps = {}, ...rest } = options;
  const failures: unknown[] = [];
  const store = openStore({ file, clock, seed, tables: [...DISPATCH_TABLES, SALES] });
  const dispatch = createDispatch(store, {
    webhooks,
    faults,
    steps: { sale: (transaction) => void sell(transaction), ...steps },
    onFailure: (failure) => failures.push(failure),
    ...rest,
  });
  let planned = 0;
  return {
    store,
    dispatch,
    sell: () => store.write(sell),
    sellAt: (at) => store.write((transaction) => setDue(transaction, 'sale', String((planned += 1)), at)),
    failures,
    async [Symbol.asyncDispose]() {
      await dispatch.close();
      store.close();
    },
  };
}

export function sell(transaction: Transaction): string {
  const { n } = transaction.get('SELECT count(*) AS n FROM sales') as { n: number };
  const data = { product_id: 'prd_1', previous_quantity: 1_000_000 - n, current_quantity: 999_999 - n };
  const event = emit(transaction, 'inventory.updated', data);
  transaction.run('INSERT INTO sales VALUES (?, ?, ?)', n + 1, event, transaction.now);
  return event;
}
