import type { EventKey } from '../../event.ts';
import type { SyncStore } from '../../queue-operations.ts';
import { firstStateOf, type Times, hashOf } from '../../rules/accept.ts';
import type { SizedEvent } from '../../rules/store.ts';
import { firstFence, FRESH } from '../moves.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { createdColumns, timesOf } from '../sql/rows.ts';
import { idHashOf } from '../sql/statement.ts';

/** The search index of operators, updated in the transactions that change events. */
export interface EventIndex {
  /** Call it before the entity or the body of an event changes. */
  forget(database: SqliteDatabase, event: EventKey): void;
  add(database: SqliteDatabase, event: EventKey): void;
}

type Part = Pick<
  SyncStore,
  'ahead' | 'insert' | 'known' | 'saveAgain' | 'eventToRerun' | 'toPending' | 'prunable' | 'prune'
>;

export function deliveries({ database, moves, queue }: NamedStatements, index: EventIndex): Part {
  return {
    ahead({ endpoint, type, entity, created }) {
      const row = queue.ahead.one({ endpoint, type, entity, ...createdColumns(created) });
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
      const row = queue.known.one({ id, endpoint });
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
        redeliveries: timesOf(queue.redeliveries.get(row.seq)),
        conflicts: timesOf(queue.conflict.get(row.seq)),
      };
    },
    saveAgain({ event: { seq, redeliveries, conflicts }, beside, replacement, isVerified }) {
      if (redeliveries !== null) queue.saveRedeliveries.run(seq, ...timesColumns(redeliveries));
      if (beside !== null && conflicts !== null) queue.saveConflict.run(seq, ...timesColumns(conflicts), beside);
      if (isVerified) moves.markVerified.run(seq);
      if (replacement === null) return;
      const { state, deadReason, isFresh, settledAt } = firstStateOf(replacement);
      const { type, created, entity, verified, body, trace } = replacement;
      index.forget(database, replacement);
      moves.replace.run({
        seq,
        type,
        ...createdColumns(created),
        entity,
        verified: verified ? 1 : 0,
        state,
        deadReason,
        settledAt,
        body,
        parked: isFresh ? FRESH : 0,
        trace: trace ?? null,
      });
      index.add(database, replacement);
    },
    eventToRerun({ id, endpoint }, readFrom) {
      const row = queue.eventToRerun.get({ id, endpoint, readFrom: readFrom ?? null });
      return row && { entity: row.entity, state: row.state, isPruned: row.pruned === 1, isAsRead: row.as_read === 1 };
    },
    toPending(event, { type, created, entity }, now) {
      const { id, endpoint } = event;
      moves.toPending.run({ id, endpoint, now, type, ...createdColumns(created), entity });
      if (entity !== event.entity) index.add(database, event);
    },
    prunable(endpoints, before, limit) {
      const found: SizedEvent[] = [];
      for (const endpoint of endpoints === '*' ? queue.prunableEndpoints.all().map(({ value }) => value) : endpoints) {
        found.push(...queue.prunableOfEndpoint.all({ endpoint, before, limit: limit - found.length }));
        if (found.length >= limit) break;
      }
      return found;
    },
    prune: (seqs) => pruneBodies({ moves, queue }, seqs),
  };
}

export function pruneBodies({ moves, queue }: Pick<NamedStatements, 'moves' | 'queue'>, seqs: readonly number[]): void {
  for (const seq of seqs) {
    const { body } = queue.bodyOf.one({ seq });
    moves.prune.run({ seq, hash: body && hashOf(body) });
    queue.pruneAttempts.run({ seq });
    queue.pruneConflict.run({ seq });
  }
  if (seqs.length > 0) queue.pruneSteps.run(JSON.stringify(seqs));
}

export function timesColumns({ count, first, last, recent }: Times) {
  return [count, first, last, JSON.stringify(recent)] as const;
}
