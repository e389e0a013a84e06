import { assertLasting } from '../../host/ephemeral-host.ts';
import { positive } from '../../number-option.ts';
import type { Inbox } from '../contract.ts';
import { keepHandy } from '../operator/background-upkeep.ts';
import { acceptEvent } from '../rules/accept-event.ts';
import { announce, WHOLE_SWEEP, type Sweep } from '../rules/announce.ts';
import { claim, claimOne, type ClaimProgress } from '../rules/claim.ts';
import { renewLeases } from '../rules/leases.ts';
import { settle } from '../rules/settle.ts';
import { atOnce } from '../rules/steps.ts';
import { pruneSome } from '../rules/tombstone.ts';
import { ignoredTypes, unhandledTypes } from '../rules/unhandled-report.ts';
import { attemptsOf, noteLateError } from './attempts.ts';
import { adoptedConnection, ownConnection } from './connection.ts';
import type { SqliteDatabase } from './database.ts';
import { effectTransaction } from './effect-transaction.ts';
import type { EventIndex } from './event-index.ts';
import { GroupCommit } from './group-commit.ts';
import { nextDue } from './next-due.ts';
import { sqliteOperations } from './operator/operations.ts';
import { forgetTerms, reindex } from './operator/search/search-words.ts';
import { storedEvent } from './records.ts';
import { rerun } from './rerun-event.ts';
import { claimedLater, settledLater, stopwatch } from './waited-time.ts';

export type { SqliteDatabase, SqliteStatement } from './database.ts';

export interface SqliteInboxOptions {
  /** How many deliveries may wait for the disk before new ones are answered 503; 10,000 unless set. */
  readonly maxWaiting?: number;
  /** How many bytes of bodies may wait; 64 MiB unless set. */
  readonly maxWaitingBytes?: number;
  /** `true` opens a file even on a host whose disk does not last, such as AWS Lambda: events are lost there. */
  readonly ephemeral?: boolean;
}

const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Roughly what a waiting delivery holds beside its body. */
const OVERHEAD_BYTES = 512;
/** What operators search is kept in the transactions that move events. */
const SEARCH_INDEX: EventIndex = { forget: forgetTerms, add: reindex };

/**
 * The durable inbox: events in SQLite, in a file of their own or among the merchant's tables. Several processes on one
 * machine may share the file. Every commit is on disk before it is answered (WAL with `synchronous=FULL`).
 *
 * @param source - the path of a file, which is created if its folder exists; or `{ database }` with an open
 * better-sqlite3 connection, which stays the merchant's to close
 * @throws InboxOpenError whose message says what to change: folder missing, no SQLite database, written by a newer
 * hookbox, on a network file system, in memory, locked, on a host whose disk does not last
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const receiver = createReceiver({ secret: 'a signing secret', inbox });
 * await receiver.close();
 * await inbox.close();
 * ```
 */
export function sqliteInbox(
  source: string | { readonly database: SqliteDatabase },
  { maxWaiting = MAX_WAITING, maxWaitingBytes = MAX_WAITING_BYTES, ephemeral = false }: SqliteInboxOptions = {},
): Inbox {
  positive('maxWaiting', maxWaiting);
  positive('maxWaitingBytes', maxWaitingBytes);
  assertLasting('sqliteInbox', ephemeral);
  const connection =
    typeof source === 'string' ? ownConnection(source, SEARCH_INDEX) : adoptedConnection(source.database, SEARCH_INDEX);
  const commits = new GroupCommit(connection, { maxWaiting, maxWaitingBytes });
  let closed: Promise<void> | undefined;

  /** how far each processor of this process has come with what waits */
  const sweeps = new Map<string, Sweep>();
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };

  const operations = sqliteOperations({
    database: () => {
      connection.statements(); // opens the file afresh where it has to be
      return connection.database();
    },
    write: (work) => {
      const passed = stopwatch();
      return commits.submitMove((statements) => work(statements, passed()));
    },
    notify,
  });

  const close = (): Promise<void> => (closed ??= commits.close().then(() => connection.close()));

  return {
    file: connection.database().name,
    operations,
    async accept(event, deadline) {
      const bytes = event.body.byteLength + OVERHEAD_BYTES;
      const acceptance = await commits.submit(({ engine }) => atOnce(acceptEvent(engine, event)), bytes, deadline);
      if (acceptance.result === 'stored' || acceptance.replaced) notify();
      return acceptance;
    },
    async get({ endpoint, id }) {
      const statements = connection.statements();
      const row = statements.getEvent.get(id, endpoint);
      return row === undefined ? null : storedEvent(row, statements);
    },
    async list({ after = 0, limit = 100 } = {}) {
      const statements = connection.statements();
      return statements.listEvents.all(after, limit).map((row) => storedEvent(row, statements));
    },
    async claim(request, limit) {
      const progress: ClaimProgress = { freshUpTo: null };
      const waited = stopwatch();
      for (;;) {
        const step = await commits.submitMove(({ engine }) =>
          atOnce(claim(engine, claimedLater(request, waited()), limit, progress)),
        );
        if (step !== 'more') return step;
      }
    },
    async claimOne(key, request) {
      const waited = stopwatch();
      for (;;) {
        const step = await commits.submitMove(({ engine }) =>
          atOnce(claimOne(engine, key, claimedLater(request, waited()))),
        );
        if (step !== 'more') return step;
      }
    },
    renew(leases, now, leaseMs) {
      const waited = stopwatch();
      return commits.submitMove(({ engine }) => atOnce(renewLeases(engine, leases, now + waited(), leaseMs)));
    },
    settle(lease, settlement, now) {
      const waited = stopwatch();
      return commits.submitMove(({ engine }) => {
        const ms = waited();
        return atOnce(settle(engine, lease, settledLater(settlement, ms), now + ms));
      });
    },
    transaction: (lease, work, attempt) => effectTransaction(connection, lease, work, attempt),
    noteLateError: (lease, error) => commits.submitMove((statements) => noteLateError(statements, lease, error)),
    async announce(scope, now, ignoreBefore) {
      const whose = JSON.stringify(scope);
      const from = sweeps.get(whose) ?? WHOLE_SWEEP;
      const waited = stopwatch();
      const step = await commits.submitMove(({ engine }) => {
        const ms = waited();
        // Later than it was said to, nothing more is put away.
        const before = ignoreBefore === null ? null : ignoreBefore + Math.min(0, ms);
        return atOnce(announce(engine, scope, now + ms, before, from));
      });
      sweeps.set(whose, step.sweep);
      return { ignored: step.ignored, more: step.more };
    },
    rerun: async (key, content, now, readFrom) => {
      const waited = stopwatch();
      const moved = await commits.submitMove((statements) => rerun(statements, key, content, now + waited(), readFrom));
      if (moved) notify();
      return moved;
    },
    prune: (endpoints, processedBefore, limit) =>
      commits.submitMove(({ engine }) => atOnce(pruneSome(engine, endpoints, processedBefore, limit))),
    async nextDue(scope) {
      return nextDue(connection.statements(), scope);
    },
    async unhandled(now, takenSince) {
      return atOnce(unhandledTypes(connection.statements().engine, now, takenSince));
    },
    async ignoredSince(scope, since, now) {
      return atOnce(ignoredTypes(connection.statements().engine, scope, since, now));
    },
    async attempts(key) {
      return attemptsOf(connection.statements(), key);
    },
    upkeep: (options) => keepHandy(operations, options),
    onPending(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
