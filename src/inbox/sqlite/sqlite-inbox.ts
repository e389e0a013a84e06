import { assertLasting } from '../../host/ephemeral-host.ts';
import { positive } from '../../number-option.ts';
import type { Inbox } from '../contract.ts';
import type { Acceptance, IncomingEvent } from '../event.ts';
import { resolve, type Resolution } from '../rules/known-event.ts';
import type { EventState } from '../state.ts';
import type { ClaimRequest, Settlement } from '../work.ts';
import { adoptedConnection, ownConnection } from './connection.ts';
import type { SqliteDatabase } from './database.ts';
import { GroupCommit } from './group-commit.ts';
import { contentOf, oneMore, storedEvent } from './records.ts';
import { effectTransaction } from './effect-transaction.ts';
import { hashOf } from './tombstone.ts';
import type { Statements } from './statements.ts';
import { FRESH } from './moves.ts';
import { announce, WHOLE_SWEEP, type Sweep } from './announce.ts';
import { claim, claimOne, type ClaimProgress } from './claim.ts';
import { unparkNext } from './entity-queue.ts';
import { sqliteOperations } from './operator/operations.ts';
import { forgetTerms, reindex } from './operator/search/search-words.ts';
import { noteLateError, renew, settle } from './settle.ts';
import { ignoredSince, unhandled } from './unhandled-events.ts';
import { attemptsOf, nextDue, prune, rerun } from './upkeep.ts';

export type { SqliteDatabase, SqliteStatement } from './database.ts';

export interface SqliteInboxOptions {
  /** How many deliveries may wait for the disk before new ones are answered 503; 10,000 unless set. */
  readonly maxWaiting?: number;
  /** How many bytes of bodies may wait; 64 MiB unless set. */
  readonly maxWaitingBytes?: number;
  /** `true` opens a file even on a host whose disk does not last, such as AWS Lambda: events are lost there. */
  readonly ephemeral?: boolean;
}

interface KnownRow {
  readonly seq: number;
  readonly entity: string | null;
  readonly state: EventState;
  readonly invalid: 0 | 1;
  readonly verified: 0 | 1;
  readonly body: Uint8Array | null;
  readonly body_sha256: Uint8Array | null;
  readonly erased: 0 | 1;
}

const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MOMENT_MS = 250;
/** Roughly what a waiting delivery holds beside its body. */
const OVERHEAD_BYTES = 512;

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
  const connection = typeof source === 'string' ? ownConnection(source) : adoptedConnection(source.database);
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
      const acceptance = await commits.submit((statements) => accept(statements, event), bytes, deadline);
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
      const passed = stopwatch();
      for (;;) {
        const step = await commits.submitMove((statements) =>
          claim(statements, atLast(request, passed()), limit, progress),
        );
        if (step !== 'more') return step;
      }
    },
    async claimOne(key, request) {
      const passed = stopwatch();
      for (;;) {
        const step = await commits.submitMove((statements) => claimOne(statements, key, atLast(request, passed())));
        if (step !== 'more') return step;
      }
    },
    renew(leases, now, leaseMs) {
      const passed = stopwatch();
      return commits.submitMove((statements) => renew(statements, leases, now + passed(), leaseMs));
    },
    settle(lease, settlement, now) {
      const passed = stopwatch();
      return commits.submitMove((statements) => {
        const ms = passed();
        return settle(statements, lease, putOff(settlement, ms), now + ms);
      });
    },
    transaction: (lease, work, attempt) => effectTransaction(connection, lease, work, attempt),
    noteLateError: (lease, error) => commits.submitMove((statements) => noteLateError(statements, lease, error)),
    async announce(scope, now, ignoreBefore) {
      const whose = JSON.stringify(scope);
      const from = sweeps.get(whose) ?? WHOLE_SWEEP;
      const passed = stopwatch();
      const step = await commits.submitMove((statements) => {
        const ms = passed();
        // Later than it was said to, nothing more is put away.
        const before = ignoreBefore === null ? null : ignoreBefore + Math.min(0, ms);
        return announce(statements, scope, now + ms, before, from);
      });
      sweeps.set(whose, step.sweep);
      return { ignored: step.ignored, more: step.more };
    },
    rerun: async (key, content, now, readFrom) => {
      const passed = stopwatch();
      const moved = await commits.submitMove((statements) => rerun(statements, key, content, now + passed(), readFrom));
      if (moved) notify();
      return moved;
    },
    prune: (endpoints, processedBefore, limit) =>
      commits.submitMove((statements) => prune(statements, endpoints, processedBefore, limit)),
    async nextDue(scope) {
      return nextDue(connection.statements(), scope);
    },
    async unhandled(now, takenSince) {
      return unhandled(connection.statements(), now, takenSince);
    },
    async ignoredSince(scope, since, now) {
      return ignoredSince(connection.statements(), scope, since, now);
    },
    async attempts(key) {
      return attemptsOf(connection.statements(), key);
    },
    onPending(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * By how much the clock has moved while a move waited for the database, be it set back meanwhile; less than a moment does
 * not count. Whatever remembers the time is given that of when it is written: a time from before the clock was set back
 * would have that made good twice.
 */
function stopwatch(): () => number {
  const startedAt = Date.now();
  return () => {
    const waited = Date.now() - startedAt;
    return Math.abs(waited) < MOMENT_MS ? 0 : waited;
  };
}

/**
 * A claim is made when it is written, not when it was asked for: a lock may lie in between, while others could not renew
 * their leases either, or the machine has slept, or its clock was set.
 */
function atLast(request: ClaimRequest, passedMs: number): ClaimRequest {
  const { now, ranOutBy = now } = request;
  return { ...request, now: now + passedMs, ranOutBy };
}

function putOff(settlement: Settlement, ms: number): Settlement {
  return settlement.outcome === 'retry' ? { ...settlement, dueAt: settlement.dueAt + ms } : settlement;
}

const STORED: Acceptance = Object.freeze({ result: 'stored', conflict: false, replaced: false });

/** Runs inside a transaction that holds the write lock, so nothing comes between looking and writing. */
function accept(statements: Statements, event: IncomingEvent): Acceptance {
  const { about, verified, state, deadReason, settledMs } = contentOf(event);
  const { changes } = statements.moves.insert.run(
    event.endpoint,
    event.id,
    ...about,
    verified,
    state,
    deadReason,
    event.valid ? FRESH : 0,
    event.receivedAt,
    event.receivedAt,
    settledMs,
    event.body,
  );
  if (changes === 0) return acceptAgain(statements, event);
  statements.counts.countType('stored', event.type);
  if (!event.valid) statements.counts.countType('dead', event.type);
  return STORED;
}

function acceptAgain(statements: Statements, event: IncomingEvent): Acceptance {
  const known = statements.findKnownEvent.get(event.id, event.endpoint) as KnownRow;
  const sameBytes = isSameBody(known, event.body);
  const resolution = resolveKnown(known, event, sameBytes);

  const { seq } = known;
  statements.counts.count('duplicate', '');
  if (resolution === 'conflict') statements.counts.count('conflict', '');
  statements.saveRedeliveries.run(seq, ...oneMore(statements.findRedeliveries.get(seq), event.receivedAt));
  const keepBeside = (body: Uint8Array): void => {
    statements.saveConflict.run(seq, ...oneMore(statements.findConflict.get(seq), event.receivedAt), body);
  };

  switch (resolution) {
    case 'same':
      break;
    case 'verify':
      statements.moves.markVerified.run(seq);
      break;
    case 'conflict':
      keepBeside(known.erased === 1 ? NOTHING : event.body);
      break;
    case 'replace': {
      if (!sameBytes && known.body !== null) keepBeside(known.body);
      const { about, verified, state, deadReason, settledMs } = contentOf(event);
      forgetTerms(statements.database, event);
      if (!event.valid) statements.counts.countType('dead', event.type);
      statements.moves.replace.run(
        ...about,
        verified,
        state,
        deadReason,
        settledMs,
        event.body,
        event.valid ? FRESH : 0,
        seq,
      );
      reindex(statements.database, event);
      // It may have been the front of another entity's queue, or of this one's.
      unparkNext(statements, { ...known, endpoint: event.endpoint }, event.receivedAt);
      unparkNext(statements, event, event.receivedAt);
      break;
    }
  }
  return { result: 'duplicate', conflict: resolution === 'conflict', replaced: resolution === 'replace' };
}

/** What is kept of a body that must not be: how often it came is told all the same. No event has a body of no bytes. */
const NOTHING = Buffer.alloc(0);

/** What was erased stays away: no body takes the place of an erased one, not even a valid one that of an invalid one. */
function resolveKnown(known: KnownRow, event: IncomingEvent, sameBytes: boolean): Resolution {
  const resolution = resolve(
    { state: known.state, invalid: known.invalid === 1, verified: known.verified === 1 },
    { valid: event.valid, verified: event.verified, sameBytes },
  );
  if (known.erased === 0 || resolution !== 'replace') return resolution;
  return sameBytes ? 'same' : 'conflict';
}

/** A tombstone has lost its body but not the hash of it. */
function isSameBody(known: KnownRow, body: Uint8Array): boolean {
  if (known.body !== null) return Buffer.compare(known.body, body) === 0;
  return known.body_sha256 !== null && Buffer.compare(known.body_sha256, hashOf(body)) === 0;
}
