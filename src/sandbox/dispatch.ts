import type { FaultPlan } from '../sender/faults.ts';
import { createDeliveries, FAULT_TABLES } from './deliveries.ts';
import { DELIVERY_TABLES, TRY } from './delivery-queue.ts';
import { DUE_TABLES, type Due } from './due.ts';
import { createDueRunner, type Step } from './due-runner.ts';
import { ENDPOINT_TABLES, giveEndpoints, type Webhook } from './endpoints.ts';
import { EVENT_TABLES } from './events.ts';
import { webhookSender } from './send-webhook.ts';
import type { Store } from './store.ts';

/** The tables of everything that falls due, of events and of their deliveries. */
export const DISPATCH_TABLES = [DUE_TABLES, EVENT_TABLES, ENDPOINT_TABLES, DELIVERY_TABLES, FAULT_TABLES] as const;

/** What falls due beside deliveries, and how these are made. */
export interface DispatchOptions {
  /** what is registered already stays as it is unless set */
  readonly webhooks?: readonly Webhook[] | undefined;
  /** whether `webhooks` may name other machines */
  readonly allowRemote?: boolean;
  /** what happens by the clock, by kind */
  readonly steps: Readonly<Record<string, Step>>;
  /** how long an answer is waited for, in real time; 10,000 unless set (interface 6.4) */
  readonly timeoutMs?: number | undefined;
  /** how many deliveries to one endpoint may be under way on a real clock; 16 unless set */
  readonly concurrency?: number | undefined;
  /** what goes wrong with which try of an event; nothing unless set */
  readonly faults?: FaultPlan | undefined;
  /** told after each try what was tried, by the id of the delivery */
  readonly onTry?: ((delivery: number) => void) | undefined;
  /** told what has failed on a real clock while nobody waited for it */
  readonly onFailure: (failure: unknown) => void;
}

/** Has everything happen that falls due: moves of orders and carts, and deliveries. */
export interface Dispatch {
  /**
   * Moves the clock, and resolves when everything that falls due on the way has happened, each at its own time. Who
   * moves it meanwhile waits.
   *
   * @param duration - milliseconds, or a text such as `30 min`; 0 runs the work that is due now
   * @throws ConfigurationError `INVALID_OPTION` for what is no duration, or leads beyond the year 9999
   * @throws Error what has failed on the way: the clock stands at its time then, and it is still due
   */
  advance(duration: number | string): Promise<void>;
  /**
   * Tries a dead letter, or what has failed and waits, once more (interface 6.4.4): at once on a real clock, and with
   * the next `advance` on a frozen one.
   *
   * @returns `false` where there is nothing to retry: it was delivered, its endpoint was removed, or it is under way
   */
  retry(delivery: number): boolean;
  /** The same with all dead letters of an endpoint. @returns how many there were */
  retryDead(endpoint: string): number;
  /** The ids of deliveries that wait for an answer. */
  underWay(): readonly number[];
  /** Stops, and resolves when what was under way has ended or was given a second for it. */
  close(): Promise<void>;
}

/** @throws ConfigurationError for a webhook that cannot work */
export function createDispatch(store: Store, options: DispatchOptions): Dispatch {
  const {
    webhooks,
    allowRemote = false,
    steps,
    timeoutMs = 10_000,
    concurrency = 16,
    faults,
    onTry,
    onFailure,
  } = options;
  const receivers =
    webhooks === undefined ? new Map<never, never>() : store.write((tx) => giveEndpoints(tx, webhooks, allowRemote));
  const deliveries = createDeliveries({ store, sender: webhookSender(timeoutMs), receivers, faults, onTry });
  const work = { [TRY]: (due: Due) => deliveries.attempt(due) };
  const runner = createDueRunner(store, { steps, work, concurrency, onFailure });
  return {
    advance: (duration) => runner.advance(duration),
    retry: (delivery) => deliveries.retry(delivery),
    retryDead: (endpoint) => deliveries.retryDead(endpoint),
    underWay: () => deliveries.underWay(),
    async close() {
      await runner.close();
      deliveries.close();
    },
  };
}
