/**
 * An inbox that keeps events in memory, for tests.
 *
 * @module
 */
import { InboxUnavailableError } from '../../errors.ts';
import { assertLasting } from '../../host/files.ts';
import { delay, performance } from '../../host/real-timers.ts';
import { assertOptions, type RulesFor } from '../../option-rules.ts';
import type { Inbox } from '../contract.ts';
import type { DefaultDatabase } from '../work.ts';
import type { StoredEvent } from '../event.ts';
import { pendingListeners } from '../pending-events.ts';
import { callsByMoves, runMove } from '../queue-moves.ts';
import { processors, refuseAsyncFunction, refusePromise, settleInTransaction, unhandled } from '../queue-operations.ts';
import { isInScope, seenSince, ignoredTypes } from '../rules/processors.ts';
import { processedBy, isRunning, leaseLost } from '../rules/attempt.ts';
import { occurrencesOf } from '../rules/accept.ts';
import type { SqliteDatabase } from '../sqlite/opening/database.ts';
import { Entries, MemoryHandling, type Entry } from './memory-events.ts';
import { isPaused } from '../rules/pauses.ts';
import { memoryStore } from './memory-store.ts';

/** The options of {@link memoryInbox}. */
export interface MemoryInboxOptions {
  /**
   * `true` allows this inbox on serverless hosts such as AWS Lambda. By default, `memoryInbox` throws on such hosts,
   * because events would be lost.
   *
   * @defaultValue `false`
   */
  readonly ephemeral?: boolean;
}

const OPTIONS: RulesFor<MemoryInboxOptions> = { ephemeral: 'boolean' };

/**
 * Creates an inbox in memory, for tests and experiments. All events are lost when the process ends, and operators
 * cannot see them. Otherwise, this inbox behaves like the others.
 *
 * @typeParam Database - the database type that your handlers expect, by default SQLite's. A memory inbox has no
 * database, so a handler that uses the database in `ctx.transaction` gets an error
 * @throws ConfigurationError `INVALID_OPTION` for an unknown option
 * @throws InboxOpenError `EPHEMERAL_HOST` on a serverless host, unless `ephemeral` is `true`
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const receiver = createReceiver({ secret: 'a signing secret', inbox: memoryInbox() });
 * await receiver.close();
 * ```
 */
export function memoryInbox<Database = DefaultDatabase>(options?: MemoryInboxOptions): Inbox<Database>;
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox {
  assertOptions('memoryInbox', options, OPTIONS);
  const { ephemeral = false } = options;
  assertLasting('memoryInbox', ephemeral);
  const entries = new Entries();
  const handling = new MemoryHandling();
  const store = memoryStore(entries, handling);
  const { notify, onPending } = pendingListeners();
  let closed = false;

  async function close(): Promise<void> {
    closed = true;
    await delay(0); // earlier calls are answered first
  }

  return {
    ...callsByMoves({
      async submit(move, _, deadline) {
        if (closed) throw new InboxUnavailableError('CLOSED', 'the inbox is closed');
        if (performance.now() > deadline) throw new InboxUnavailableError('DEADLINE', 'the deadline has passed');
        return runMove(store, move);
      },
      run: async (move) => runMove(store, move),
      notify,
    }),
    async get(key) {
      const entry = entries.find(key);
      return entry === undefined ? null : shown(entry);
    },
    async list({ after = 0, limit = 100 } = {}) {
      return entries.all.slice(after, after + limit).map(shown);
    },
    async transaction(lease, work, { now, signal, ...attempt }) {
      refuseAsyncFunction(work);
      signal.throwIfAborted();
      if (!isRunning(store.held([lease], null)[0])) throw leaseLost();
      const result = work(noDatabase);
      refusePromise(result);
      if (!settleInTransaction(store, lease, processedBy(attempt), now())) throw leaseLost();
      return result;
    },
    async nextDue(scope) {
      const times = entries.all.flatMap((entry) => {
        if (entry.isLeased) return [entry.leaseUntil];
        if (entry.state !== 'pending' || entry.isParked || !isInScope(scope, entry)) return [];
        const until = handling.pauses.find((pause) => isPaused([pause], entry))?.until;
        return [Math.max(entry.dueAt, until?.getTime() ?? 0)];
      });
      return times.length === 0 ? null : Math.min(...times);
    },
    processors: async (now) => processors(store, now),
    unhandled: async (now, handledSince = seenSince(now)) => unhandled(store, handledSince),
    ignoredSince: async (scope, since, now) => ignoredTypes(store.ignoredTypes(scope, since), now),
    onPending,
    steps: async (key) => [...(entries.find(key)?.steps ?? [])],
    attempts: async (key) => [...(entries.find(key)?.attempts ?? [])],
    close,
    [Symbol.asyncDispose]: close,
  };
}

function shown(entry: Entry): StoredEvent {
  const { seq, endpoint, id, type, created, entity, verified, state, deadReason, body, receivedAt } = entry;
  const { redeliveries, conflicts, otherBody } = entry;
  return {
    seq,
    endpoint,
    id,
    type,
    created,
    entity,
    verified,
    state,
    deadReason,
    body: body && new Uint8Array(body),
    receivedAt,
    redeliveries: occurrencesOf(redeliveries),
    conflict: otherBody && { ...occurrencesOf(conflicts), body: new Uint8Array(otherBody) },
  };
}

const noDatabase: SqliteDatabase = new Proxy({} as SqliteDatabase, {
  get(_, name) {
    throw new Error(
      `memoryInbox has no database, so the function in ctx.transaction cannot use one (${String(name)}). Use ` +
        'sqliteInbox to test transactions.',
    );
  },
});
