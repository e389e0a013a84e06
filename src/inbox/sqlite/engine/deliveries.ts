import type { EventKey, EventState } from '../../event.ts';
import type { SyncStore } from '../../queue-operations.ts';
import { firstStateOf, type Times, hashOf } from '../../rules/accept.ts';
import type { SizedEvent } from '../../rules/store.ts';
import { firstFence, FRESH } from '../moves.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { idHashOf } from '../sql/statement.ts';

type OfKind<Kind extends string> = Readonly<
  Record<`${Kind}_${'count' | 'first' | 'last'}`, number | null> & Record<`${Kind}_recent`, string | null>
>;

interface KnownRow extends OfKind<'again'>, OfKind<'other'> {
  readonly seq: number;
  readonly entity: string | null;
  readonly state: EventState;
  readonly invalid: 0 | 1;
  readonly verified: 0 | 1;
  readonly body: Uint8Array | null;
  readonly body_sha256: Uint8Array | null;
  readonly erased: 0 | 1;
}

interface AheadRow extends Record<'crowded' | 'paused' | 'busy' | 'superseded', 0 | 1> {
  readonly latest_ms: number;
  readonly back_ms: number | null;
}

/** Deliveries, on the tables of a file. */
export function deliveries(
  { database, moves, queue, known }: NamedStatements,
  index: EventIndex,
): Pick<SyncStore, 'ahead' | 'insert' | 'known' | 'saveAgain'> {
  return {
    ahead({ endpoint, type, entity, created }) {
      const about = { endpoint, type, entity, createdMs: created?.ms ?? null, createdNs: created?.ns ?? null };
      const row = queue.ahead.get(about) as AheadRow;
      return {
        isCrowded: row.crowded === 1,
        isPaused: row.paused === 1,
        isEntityBusy: row.busy === 1,
        isSuperseded: row.superseded === 1,
        latest: row.latest_ms,
        isMovingBack: row.back_ms !== null,
      };
    },
    insert({ endpoint, id, type, created, entity, verified, receivedAt, body, trace }, first, lease) {
      const hash = idHashOf(database)(id);
      if (moves.isKnown.get(hash, id, endpoint) !== undefined) return null;
      const fence = lease === undefined ? 0 : firstFence(lease.claimNumber);
      const { lastInsertRowid } = moves.insert.run(
        endpoint,
        id,
        hash,
        type,
        created?.ms ?? null,
        created?.ns ?? null,
        entity,
        verified ? 1 : 0,
        first.state,
        first.deadReason,
        first.isFresh ? FRESH : 0,
        receivedAt,
        receivedAt,
        first.settledAt,
        body,
        trace ?? null,
        fence,
        lease === undefined ? 0 : 1,
        lease?.now ?? null,
        lease?.until ?? null,
      );
      return { seq: Number(lastInsertRowid), fence };
    },
    known({ id, endpoint }) {
      const row = known.event.get({ id, endpoint }) as KnownRow;
      return {
        seq: row.seq,
        endpoint,
        entity: row.entity,
        state: row.state,
        invalid: row.invalid === 1,
        verified: row.verified === 1,
        erased: row.erased === 1,
        body: row.body,
        hash: row.body_sha256,
        redeliveries: timesOf(row.again_count, row.again_first, row.again_last, row.again_recent),
        conflicts: timesOf(row.other_count, row.other_first, row.other_last, row.other_recent),
      };
    },
    saveAgain({ event: { seq, redeliveries, conflicts }, beside, replacement, isVerified }) {
      if (redeliveries !== null) known.saveRedeliveries.run(seq, ...columnsOf(redeliveries));
      if (beside !== null && conflicts !== null) known.saveConflict.run(seq, ...columnsOf(conflicts), beside);
      if (isVerified) moves.markVerified.run(seq);
      if (replacement === null) return;
      const { state, deadReason, isFresh, settledAt } = firstStateOf(replacement);
      const { type, created, entity, verified, body, trace } = replacement;
      index.forget(database, replacement);
      moves.replace.run(
        type,
        created?.ms ?? null,
        created?.ns ?? null,
        entity,
        verified ? 1 : 0,
        state,
        deadReason,
        settledAt,
        body,
        isFresh ? FRESH : 0,
        trace ?? null,
        seq,
      );
      index.add(database, replacement);
    },
  };
}

function timesOf(count: number | null, first: number | null, last: number | null, recent: string | null): Times | null {
  if (count === null || first === null || last === null || recent === null) return null;
  return { count, first, last, recent: JSON.parse(recent) as number[] };
}

function columnsOf({ count, first, last, recent }: Times) {
  return [count, first, last, JSON.stringify(recent)] as const;
}

interface RowToRerun {
  readonly entity: string | null;
  readonly state: EventState;
  readonly pruned: 0 | 1;
  readonly as_read: 0 | 1;
}

/** Reruns and tombstones, on the tables of a file. */
export function settledEvents(
  { database, moves, queue }: NamedStatements,
  index: EventIndex,
): Pick<SyncStore, 'eventToRerun' | 'toPending' | 'prunable' | 'prune'> {
  return {
    eventToRerun({ id, endpoint }, readFrom) {
      const row = queue.eventToRerun.get({ id, endpoint, readFrom: readFrom ?? null }) as RowToRerun | undefined;
      return row && { entity: row.entity, state: row.state, isPruned: row.pruned === 1, isAsRead: row.as_read === 1 };
    },
    toPending(event, { type, created, entity }, now) {
      const { id, endpoint } = event;
      const content = { type, created_ms: created?.ms, created_ns: created?.ns, entity };
      moves.toPending.run({ id, endpoint, now, ...content });
      // An invalid event has got its entity only now.
      if (entity !== event.entity) index.add(database, event);
    },
    prunable(endpoints, before, limit) {
      const found: SizedEvent[] = [];
      const named =
        endpoints === '*' ? queue.prunableEndpoints.all().map((row) => (row as { value: string }).value) : endpoints;
      for (const endpoint of named) {
        const rows = queue.prunableOfEndpoint.all({ endpoint, before, limit: limit - found.length });
        found.push(...(rows as SizedEvent[]));
        if (found.length >= limit) break;
      }
      return found;
    },
    prune(seqs) {
      for (const seq of seqs) {
        const { body } = queue.bodyOf.get({ seq }) as { body: Uint8Array };
        moves.prune.run({ seq, hash: hashOf(body) });
        queue.pruneAttempts.run({ seq });
        queue.pruneConflict.run({ seq });
      }
    },
  };
}

/** What finds events by what they say of themselves. It is kept by whoever searches, in the transactions that move events. */
export interface EventIndex {
  /** Call it before the entity or the body of an event changes. */
  forget(database: SqliteDatabase, event: EventKey): void;
  /** Call it after it has changed. */
  add(database: SqliteDatabase, event: EventKey): void;
}
