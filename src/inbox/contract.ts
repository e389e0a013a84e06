import type { DefaultDatabase } from './default-database.ts';
import type { Acceptance, EventKey, IncomingEvent, StoredEvent } from './event.ts';
import type { Operations } from './operator/operations.ts';
import type { WorkQueue } from './work.ts';

/**
 * The durable store of events. `test/inbox/conformance.ts` says in tests what each inbox must do; nothing that uses one
 * knows where it keeps its events.
 *
 * @typeParam Database - what a handler's transaction works on
 */
export interface Inbox<Database = DefaultDatabase> extends WorkQueue<Database>, AsyncDisposable {
  /**
   * Stores an event unless its key is known, and resolves once that is durable.
   *
   * @param deadline - on the clock of `performance.now()`: what has not begun to be stored by then is given up
   * @throws InboxUnavailableError when it was not stored; it never throws anything else
   */
  accept(event: IncomingEvent, deadline: number): Promise<Acceptance>;
  /** The event of a key, or `null`. */
  get(key: EventKey): Promise<StoredEvent | null>;
  /** Events in the order of arrival, after the `seq` of the last one seen; 100 unless `limit` says otherwise. */
  list(page?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredEvent[]>;
  /** The file it keeps them in, as commands name it with `--db`; absent where there is none, as in Postgres. */
  readonly file?: string;
  /** The schema of Postgres it keeps them in, as commands name it with `--schema`; absent elsewhere. */
  readonly schema?: string;
  /** How many handlers can be inside of `ctx.transaction` at once, where each holds a connection; absent where they take turns. */
  readonly transactionsAtOnce?: number;
  /** What `hookbox/ops` works with; absent where an inbox cannot be looked into. */
  readonly operations?: Operations;
  /**
   * Keeps in order what operators look into, a bounded part at a time and behind the deliveries. Receivers and processors
   * call it about once a minute; absent where there is nothing to keep.
   *
   * @param options - `isOpen` is asked before each part; with `false` it stops. `upTo` is the `seq` of the last event that
   * matters; a caller that sets it waits for the end, and the call holds the process until then. Without it, upkeep continues
   * while there are new events. `report` is called with what an operator has to mend, and how
   */
  upkeep?(options: {
    readonly now: () => number;
    readonly isOpen: () => boolean;
    readonly upTo?: number;
    readonly report?: (problem: { readonly what: string; readonly advice: string }) => void;
  }): Promise<void>;
  /** Finishes what is waiting and lets go of everything it opened itself. Idempotent. */
  close(): Promise<void>;
}

/** An inbox of any kind, whatever its transactions work on: what operators' functions take. */
export type AnyInbox = Inbox<unknown>;
