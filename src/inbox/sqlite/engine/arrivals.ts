import type { IncomingEvent } from '../../event.ts';
import type { EntityQueue, FirstClaim, Starts } from '../../rules/engine.ts';
import type { FirstState } from '../../rules/first-state.ts';
import type { Times } from '../../rules/occurrences.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { EventState } from '../../state.ts';
import type { Lease } from '../../work.ts';
import type { EventIndex } from './event-index.ts';
import { firstFence, FRESH } from '../moves.ts';
import { idHashOf } from '../sql/event-key.ts';
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

const RUNNING = { state: 'processing', deadReason: null, isFresh: false, settledAt: null } as const;

/** Deliveries come in. */
export function arrivals({ database, moves, queue, known }: NamedStatements, index: EventIndex): Part {
  /** Returns `null` when the key is known. */
  function store(event: IncomingEvent, first: FirstState | typeof RUNNING, claim?: FirstClaim): Lease | null {
    const { endpoint, id, type, created, entity, verified, receivedAt, body, trace } = event;
    const hash = idHashOf(database)(id);
    if (moves.isKnown.get(hash, id, endpoint) !== undefined) return null;
    const fence = claim === undefined ? 0 : firstFence(claim.number);
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
      claim === undefined ? 0 : 1,
      claim?.now ?? null,
      claim?.until ?? null,
    );
    return { seq: Number(lastInsertRowid), fence };
  }

  return {
    insert: (event, first) => answer(store(event, first) !== null),
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
    insertRunning: (event, claim) => answer(store(event, RUNNING, claim)),
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
