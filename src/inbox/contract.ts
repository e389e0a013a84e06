import type { DefaultDatabase } from './default-database.ts';
import type { Acceptance, EventKey, IncomingEvent, StoredEvent } from './event.ts';
import type { Operations } from './operator/operations.ts';
import type { StartRequest, WorkQueue } from './work.ts';

/**
 * A durable store of events. `test/inbox/conformance.ts` tests what each inbox must do.
 *
 * @typeParam Database - the database that a handler's transaction works on
 */
export interface Inbox<Database = DefaultDatabase> extends WorkQueue<Database>, AsyncDisposable {
  /**
   * Stores an event unless its key is known. Resolves when the event is durable.
   *
   * @param deadline - a time of `performance.now()`, in milliseconds; an event that has not begun to be stored by then
   * is dropped
   * @param start - the caller handles the event if it is stored as running; an inbox may leave it to a claim
   * @throws InboxUnavailableError if the event was not stored; no other error
   */
  accept(event: IncomingEvent, deadline: number, start?: StartRequest): Promise<Acceptance>;
  /** Returns the event with this key, or `null`. */
  get(key: EventKey): Promise<StoredEvent | null>;
  /** Lists events in order of arrival, after the `seq` of the last one. `limit` is 100 by default. */
  list(page?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredEvent[]>;
  /** The path of the database file, as `--db` takes it. Absent if the inbox has no file, as on Postgres. */
  readonly file?: string;
  /** The Postgres schema, as `--schema` takes it. Absent on other inboxes. */
  readonly schema?: string;
  /** How many handlers can run `ctx.transaction` concurrently, if each one holds a connection. Absent if they take turns. */
  readonly transactionsAtOnce?: number;
  /** The functions that `hookbox/ops` uses. Absent if the inbox does not support operators. */
  readonly operations?: Operations;
  /**
   * Maintains the data that operators see, in small parts and after the deliveries. Receivers and processors call it
   * about once a minute. Absent if the inbox needs no upkeep.
   *
   * @param options - `isOpen` is called before each part; `false` stops the upkeep. `upTo` is the `seq` of the last
   * event to include; with it, the call waits for the end and keeps the process alive. Without it, upkeep continues
   * while new events arrive. `report` is called with a fault that an operator must repair, and its repair.
   */
  upkeep?(options: {
    readonly now: () => number;
    readonly isOpen: () => boolean;
    readonly upTo?: number;
    readonly report?: (problem: { readonly what: string; readonly advice: string }) => void;
  }): Promise<void>;
  /** Finishes queued work and closes everything the inbox opened itself. Idempotent. */
  close(): Promise<void>;
}

/** An inbox of any kind. The operators' functions take it. */
export type AnyInbox = Inbox<unknown>;
