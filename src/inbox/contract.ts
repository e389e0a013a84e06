import { ConfigurationError } from '../errors.ts';
import { kindOf } from '../option-rules.ts';
import type { Acceptance, EventKey, IncomingEvent, StoredEvent } from './event.ts';
import type { Acknowledging } from './operator/acknowledging.ts';
import type { Acts } from './operator/acts.ts';
import type { Audit } from './operator/audit.ts';
import type { Counts } from './operator/counts.ts';
import type { Erasure } from './operator/erasing.ts';
import type { Marks } from './operator/marks.ts';
import type { Pauses } from './operator/pauses.ts';
import type { Pruning } from './operator/pruning.ts';
import type { Search } from './operator/search.ts';
import type { Transfer } from './operator/transfer.ts';
import type { Waits } from './rules/waiting.ts';
import type { DefaultDatabase, StartRequest, WorkQueue } from './work.ts';

/**
 * A durable store for events. `test/inbox/conformance.ts` tests the behaviour that each inbox must have.
 *
 * @typeParam Database - the database that a handler's transaction uses
 */
export interface Inbox<Database = DefaultDatabase> extends WorkQueue<Database>, AsyncDisposable {
  /**
   * Stores an event unless its key is already known. Resolves when the event is durable.
   *
   * @param deadline - a time on the clock of `performance.now()`; the inbox drops an event that it has not begun to
   * store by then
   * @param start - the caller will handle the event, so the inbox may store it as `processing`
   * @throws InboxUnavailableError if the inbox cannot confirm that it stored the event; it throws no other error
   */
  accept(event: IncomingEvent, deadline: number, start?: StartRequest): Promise<Acceptance>;
  /** Returns the event with this key, or `null` if the key is unknown. */
  get(key: EventKey): Promise<StoredEvent | null>;
  /** Lists events in order of arrival, starting after the event whose `seq` is `after`. `limit` is 100 by default. */
  list(page?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredEvent[]>;
  /** The path of the database file, to pass as `--db`. Absent if the inbox has no file, as on Postgres. */
  readonly file?: string;
  /** The Postgres schema, to pass as `--schema`. Absent if the inbox is not in Postgres. */
  readonly schema?: string;
  /** How many handlers can run `ctx.transaction` concurrently. Absent if handlers take turns. */
  readonly transactionsAtOnce?: number;
  /** The functions that `hookbox/ops` uses. Absent if the inbox does not support these functions. */
  readonly operations?: Operations;
  /**
   * Maintains the data that operators see, in small steps. Receivers and processors call this function about once a
   * minute.
   *
   * @param options - `isOpen` is called before each step; `false` stops the upkeep. `upTo` is the `seq` of the last
   * event to include; if it is set, the call keeps the process alive until the upkeep is done. `report` is called with
   * each fault that an operator must repair.
   */
  upkeep?(options: {
    readonly now: () => number;
    readonly isOpen: () => boolean;
    readonly upTo?: number;
    readonly report?: (problem: { readonly what: string; readonly advice: string }) => void;
  }): Promise<void>;
  /** Finishes queued work and closes everything that the inbox opened itself. Idempotent. */
  close(): Promise<void>;
}

/** An inbox, whatever its database type. The functions of `hookbox/ops` accept such an inbox. */
export type AnyInbox = Inbox<unknown>;

/** @throws ConfigurationError `INVALID_OPTION`, before the first delivery arrives */
export function assertInbox(whose: string, inbox: unknown, method: keyof Inbox): void {
  const isObject = typeof inbox === 'object' && inbox !== null;
  if (isObject && typeof Reflect.get(inbox, method) === 'function') return;
  const what = isObject && 'then' in inbox ? 'a promise: await it' : kindOf(inbox);
  throw new ConfigurationError(
    'INVALID_OPTION',
    `${whose}: inbox must be the result of sqliteInbox('shop.db') of hookbox/sqlite, postgresInbox(…) of ` +
      `hookbox/postgres or memoryInbox() of hookbox/memory, not ${what}.`,
  );
}

/** The part of an inbox that `hookbox/ops` uses. */
export interface Operations
  extends Search, Acts, Audit, Pruning, Erasure, Transfer, Counts, Marks, Waits, Pauses, Acknowledging {
  /** Returns what makes the database slow or unreachable, causes first. Absent if the inbox is not in Postgres. */
  databaseFaults?(): Promise<readonly DatabaseFault[]>;
}

/** A problem of the database server. */
export interface DatabaseFault {
  /** One or two sentences. */
  readonly what: string;
  /** What to do, without a full stop, as it may end with SQL. */
  readonly advice: string;
}
