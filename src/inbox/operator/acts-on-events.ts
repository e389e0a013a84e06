import type { EventKey } from '../event.ts';
import { requestByKey } from '../rules/decide-act.ts';
import {
  auditedTarget,
  bodiesToRead,
  countMoves,
  MOST_KEYS,
  nextBatch,
  planActs,
  queuesToAdvance,
  refuseTooManyBytes,
  refuseTooManyKeys,
  reportOf,
  type Acting,
  type ActsPlan,
  type EventMove,
} from '../rules/operator-acts.ts';
import type { TimeSlice } from '../rules/budget.ts';
import { authorOf, type ActResult, type Acts } from './acts.ts';
import { actedEvents, addLine } from './audit.ts';
import { keyText } from './finding/conditions.ts';
import { byTables, keyedEvents, type OperatorTables, type OperatorTransaction } from './sql.ts';
import { actedInOrder, listedEvents, selectActed } from './summaries.ts';

export function actsOnEvents(tables: OperatorTables): Pick<Acts, 'act'> {
  const keyed = (columns: string, keys: readonly EventKey[]) => ({
    text: `SELECT ${columns} FROM ${keyedEvents(tables.dialect)}`,
    values: [keys.map(({ id }) => id), keys.map(({ endpoint }) => endpoint)],
  });
  return {
    async act(act, keys, by, { force = false, entity, states, attempts }) {
      const author = authorOf(by);
      refuseTooManyKeys(keys);
      if (keys.length > 1) {
        const statement = keyed('CAST(coalesce(sum(length(events.body)), 0) AS bigint) AS bytes', keys);
        const [sum] = await tables.read(({ rows }) => rows<{ bytes: number }>(statement));
        refuseTooManyBytes(keys, sum?.bytes ?? 0);
      }
      const report = await tables.change(
        async (tx) => {
          const by = byTables(author)(tx);
          const known = await tx.rows<EventKey & { seq: number }>(
            keyed('events.seq, events.id, events.endpoint', keys),
          );
          const seqs = new Map(known.map((event) => [keyText(event), event.seq]));
          const acting = { requested: { ...requestByKey(act, force, states), attempts }, entity, now: by.now };
          const { results, moves } = await actOn(
            tx,
            keys.map((key) => seqs.get(keyText(key)) ?? 0),
            acting,
            MOST_KEYS,
          );
          const report = reportOf(keys, results);
          const audit = await addLine(tx, act, by, auditedTarget(keys, force), report.counts);
          tx.later(
            actedEvents(
              tx.dialect,
              audit,
              moves.map(({ event }) => event.seq),
              by.now,
            ),
          );
          return { ...report, audit };
        },
        { dueAt: author.now },
      );
      if (report.counts.done !== undefined) tables.notify();
      return report;
    },
  };
}

/**
 * @param limit - the number of events that are read, and then moved
 * @param slice - may end the work early, after at least one event
 */
export async function actOn(
  tx: OperatorTransaction,
  seqs: readonly number[],
  acting: Acting,
  limit: number,
  slice?: TimeSlice,
): Promise<ActsPlan> {
  const results: ActResult[] = [];
  const moves: EventMove[] = [];
  await tx.hold(seqs);
  while (results.length < seqs.length) {
    const next = seqs.slice(results.length, results.length + limit);
    const rows = nextBatch(actedInOrder(next, await tx.rows(selectActed(tx.dialect, next))), limit);
    const plan = planActs(rows, await readBodies(tx, bodiesToRead(rows, acting)), acting, slice);
    await tx.move(plan.moves, acting.now);
    countMoves(tx.counts, plan.moves);
    results.push(...plan.results);
    moves.push(...plan.moves);
    if (slice?.isOver() === true) break;
  }
  const left = queuesToAdvance(moves);
  if (left.length > 0) await tx.advance(left, acting.now);
  return { results, moves };
}

async function readBodies(
  { dialect, rows }: OperatorTransaction,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  if (seqs.length === 0) return new Map();
  const text = `SELECT events.seq, events.body FROM ${listedEvents(dialect)} WHERE events.body IS NOT NULL`;
  const found = await rows<{ seq: number; body: Uint8Array }>({ text, values: [seqs] });
  return new Map(found.map(({ seq, body }) => [seq, body]));
}
