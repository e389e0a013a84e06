import type { EntityQueue, Starts } from '../../rules/engine.ts';
import type { Times } from '../../rules/occurrences.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { EventState } from '../../state.ts';
import type { EventIndex } from './event-index.ts';
import { firstFence, FRESH } from '../moves.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { timesOf } from '../sql/records.ts';

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

interface AheadRow extends Record<'crowded' | 'paused' | 'busy' | 'superseded', 0 | 1> {
  readonly latest_ms: number;
  readonly back_ms: number | null;
}

type Part = Omit<Starts, 'counts' | 'noteTime' | keyof EntityQueue>;

/** Deliveries come in. */
export function arrivals({ database, moves, queue, known }: NamedStatements, index: EventIndex): Part {
  return {
    insert(event, { state, deadReason, isFresh, settledAt }) {
      const { endpoint, id, type, created, entity, verified, receivedAt, body } = event;
      const { changes } = moves.insert.run({
        endpoint,
        id,
        type,
        createdMs: created?.ms ?? null,
        createdNs: created?.ns ?? null,
        entity,
        verified: verified ? 1 : 0,
        state,
        deadReason,
        parked: isFresh ? FRESH : 0,
        receivedMs: receivedAt,
        settledMs: settledAt,
        body,
        trace: event.trace ?? null,
      });
      return answer(changes === 1);
    },
    ahead({ endpoint, type, entity, created }) {
      const about = { endpoint, type, entity, createdMs: created?.ms ?? null, createdNs: created?.ns ?? null };
      const {
        crowded,
        paused,
        busy,
        superseded,
        latest_ms: latest,
        back_ms: back,
      } = queue.ahead.get(about) as AheadRow;
      return answer({
        isCrowded: crowded === 1,
        isPaused: paused === 1,
        isEntityBusy: busy === 1,
        isSuperseded: superseded === 1,
        latest,
        isMovingBack: back !== null,
      });
    },
    insertRunning(event, { now, until, number }) {
      const { endpoint, id, type, created, entity, verified, receivedAt, body } = event;
      const fence = firstFence(number);
      const { changes, lastInsertRowid } = moves.insertRunning.run({
        endpoint,
        id,
        type,
        createdMs: created?.ms ?? null,
        createdNs: created?.ns ?? null,
        entity,
        verified: verified ? 1 : 0,
        receivedMs: receivedAt,
        body,
        trace: event.trace ?? null,
        fence,
        now,
        until,
      });
      return answer(changes === 1 ? { seq: Number(lastInsertRowid), fence } : null);
    },
    known({ id, endpoint }) {
      const row = known.event.get({ id, endpoint }) as KnownRow;
      return answer({
        seq: row.seq,
        entity: row.entity,
        state: row.state,
        invalid: row.invalid === 1,
        verified: row.verified === 1,
        erased: row.erased === 1,
        body: row.body,
        hash: row.body_sha256,
      });
    },
    markVerified(seq) {
      moves.markVerified.run(seq);
      return DONE;
    },
    replace(seq, event, { state, deadReason, isFresh, settledAt }) {
      index.forget(database, event);
      const { type, created, entity, verified, body } = event;
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
        event.trace ?? null,
        seq,
      );
      index.add(database, event);
      return DONE;
    },
    redeliveries: (seq) => answer(timesOf(known.redeliveries.get(seq))),
    saveRedeliveries(seq, times) {
      known.saveRedeliveries.run(seq, ...columnsOf(times));
      return DONE;
    },
    conflicts: (seq) => answer(timesOf(known.conflicts.get(seq))),
    saveConflict(seq, times, body) {
      known.saveConflict.run(seq, ...columnsOf(times), body);
      return DONE;
    },
  };
}

function columnsOf({ count, first, last, recent }: Times) {
  return [count, first, last, JSON.stringify(recent)] as const;
}
