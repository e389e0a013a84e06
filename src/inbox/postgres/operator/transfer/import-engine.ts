import type { ExportedEvent } from '../../../operator/export-format.ts';
import type { Imports } from '../../../rules/import-events.ts';
import type { Times } from '../../../rules/occurrences.ts';
import { answer, DONE } from '../../../rules/steps.ts';
import { DatabaseFailure } from '../../driver/faults.ts';
import { textOrNull, toText } from '../../driver/values.ts';
import { assertPlaced, type Placed } from '../../engine/insert-events.ts';
import { postgresEngine } from '../../engine/postgres-engine.ts';
import type { Scene } from '../../engine/scene.ts';
import { keyOrNull } from '../../sql/keys.ts';
import { slotOf } from '../../sql/slots.ts';
import { auditLines } from '../audit/audit-line.ts';
import { noteOutOfOrder } from '../search/received-times.ts';
import type { NotedBodies } from './known-bodies.ts';

type Row = readonly unknown[];

/**
 * What an import asks for in one transaction. Events are stored together at its end and numbered by then; the rule is given
 * their places instead, from 0 on.
 */
export function importEngine(scene: Scene, known: NotedBodies): Imports & { flush(): Promise<void> } {
  const { session, t, moves } = scene;
  const engine = postgresEngine(scene);
  const events: ExportedEvent[] = [];
  const attempts: Row[] = [];
  const redeliveries: Row[] = [];
  const conflicts: Row[] = [];

  async function stored(): Promise<readonly number[]> {
    const rows = await session.rows<{ seq: number } & Placed>(moves.importEvents, columns(events.map(columnsOf), 25));
    // Somebody else has just stored one of them: looked at again, it is known.
    if (rows.length < events.length) {
      throw new DatabaseFailure(Object.assign(new Error('stored meanwhile'), { code: '40001' }));
    }
    assertPlaced(rows);
    return rows.map(({ seq }) => seq);
  }

  return {
    ...engine,
    ...auditLines(scene),
    bodyOfKey: (key) => known.bodyOfKey(key),
    importEvent(event) {
      known.note(event);
      return answer(events.push(event) - 1);
    },
    importAttempt(place, { number, trigger, outcome, startedMs, endedMs, error, skipped }) {
      const endpoint = toText(events[place]?.endpoint ?? '');
      const words = [error?.name, error?.message, error?.stack, skipped].map((text) => textOrNull(text ?? null));
      attempts.push([place, number, trigger, outcome, endpoint, startedMs, endedMs, ...words]);
      return DONE;
    },
    saveRedeliveries(place, times) {
      redeliveries.push([place, ...columnsOfTimes(times)]);
      return DONE;
    },
    saveConflict(place, times, body) {
      conflicts.push([place, ...columnsOfTimes(times), Buffer.from(body)]);
      return DONE;
    },
    // They have no numbers yet.
    noteImported: () => DONE,
    async flush() {
      if (events.length === 0) return;
      const seqs = await stored();
      const numbered = (rows: readonly Row[]): Row[] => rows.map(([place, ...rest]) => [seqs[Number(place)], ...rest]);
      const times = 'seq, count, first_ms, last_ms, recent';
      const typesOfTimes = '$1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]';
      await Promise.all([
        session.run(
          `INSERT INTO ${t.attempts} (seq, number, trigger, outcome, endpoint, started_ms, ended_ms, error_name,
             error_message, error_stack, skipped, fence, prunable)
           SELECT *, 0, false FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::bigint[],
             $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[])`,
          columns(numbered(attempts), 11),
        ),
        session.run(
          `INSERT INTO ${t.redeliveries} (${times}) SELECT * FROM unnest(${typesOfTimes})`,
          columns(numbered(redeliveries), 5),
        ),
        session.run(
          `INSERT INTO ${t.conflicts} (${times}, body) SELECT * FROM unnest(${typesOfTimes}, $6::bytea[])`,
          columns(numbered(conflicts), 6),
        ),
      ]);
      const [first] = seqs;
      if (first !== undefined) await noteOutOfOrder(session, t, first, seqs.at(-1) ?? first);
    },
  };
}

/** As `moves.importEvents` has them. */
function columnsOf(event: ExportedEvent): Row {
  const { endpoint, id, type, created, entity } = event;
  return [
    toText(endpoint),
    toText(id),
    textOrNull(type),
    created?.ms ?? null,
    created?.ns ?? null,
    textOrNull(entity),
    slotOf(endpoint, entity, id),
    event.verified,
    event.receivedMs,
    event.body === null ? null : Buffer.from(event.body),
    event.sha256 === null ? null : Buffer.from(event.sha256),
    event.erasedMs,
    keyOrNull(type),
    keyOrNull(entity),
    event.state,
    event.deadReason,
    event.settledMs,
    event.dueMs,
    event.begun,
    event.failures,
    event.crashes,
    event.trigger,
    event.fingerprint,
    textOrNull(event.trace ?? null),
    event.yields === true,
  ];
}

function columnsOfTimes({ count, first, last, recent }: Times): Row {
  return [count, first, last, JSON.stringify(recent)];
}

function columns(rows: readonly Row[], count: number): unknown[][] {
  return Array.from({ length: count }, (_, at) => rows.map((row) => row[at]));
}
