import { jsonText } from '../../../events/json.ts';
import { actedEvents } from '../../operator/audit.ts';
import type { ErasingEngine } from '../../operator/erasing.ts';
import { namesIn } from '../../operator/finding/bodies.ts';
import { withinBudget } from '../../rules/budget.ts';
import {
  ERASED_ERROR,
  eventsAbout,
  planErase,
  type ErasableEvent,
  type ErasePlan,
  type FoundEvent,
} from '../../rules/erasing.ts';
import { seenSince } from '../../rules/processors.ts';
import { entityTerm, entityTerms, termsOf, type NamesInBody, type Term } from '../../rules/entity-terms.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import type { Session } from '../driver/session.ts';
import { applyChanges } from '../engine/apply-changes.ts';
import { nextInQueues } from '../engine/entity-queue.ts';
import type { Transaction } from '../engine/transaction.ts';
import { joined, stateToActOn } from '../sql/records.ts';
import { writeTogether, type Write } from '../sql/statements.ts';
import { toKey, slotOf, rowOf, type Tables } from '../sql/tables.ts';
import { keepUnpruned } from './acts.ts';
import { doneOnce } from '../driver/database.ts';
import { type Access, addToAuditLine, postgres } from './operator-tables.ts';
import { holdIndex, indexedUpTo } from './search-words.ts';

/** Removes what is kept about an entity. */
export function erasingEngine({ store, ask }: Access): ErasingEngine {
  const { database, t, time, within, writeAt } = store;
  return {
    // They are numbered before they are committed.
    notesInOrder: false,
    about: (found, entity) =>
      ask(() =>
        database.read(async (session) => {
          const rows = [...(await erasableEvents(session, t, found, entity)).values()];
          const bodies = await namesInBodies(
            session,
            t.events,
            rows.filter(({ isIndexed }) => !isIndexed),
          );
          return eventsAbout(await foundEvents(session, t, rows, bodies, entity), entity);
        }),
      ),
    eraseSome: (events, { entity, audit, author }) =>
      ask(() =>
        doneOnce(store.database, {
          before: (session) => writeAt(session, author.now),
          async work(session) {
            const now = time.toDatabase(author.now);
            const place = within(session);
            const given = events.map(({ seq }) => seq);
            await hold(place, given);
            const found = await erasableEvents(session, t, given, entity);
            const batch = withinBudget(given.map((seq) => ({ seq, bytes: found.get(seq)?.bytes ?? 0 })));
            const rows = batch.flatMap(({ seq }) => found.get(seq) ?? []);
            const bodies = await namesInBodies(session, t.events, rows);
            const plan = planErase(eventsAbout(await foundEvents(session, t, rows, bodies, entity), entity));
            await save(place, plan, bodies, entity, now);
            const { acted, erased, inProcessing } = plan;
            await addToAuditLine(place, audit, { erased, inProcessing });
            if (acted.length > 0) await session.run(actedEvents(postgres(t), audit, acted, now));
            return { erased, inProcessing, worked: batch.length };
          },
        }),
      ),
    // It is the whole server's.
    emptyLog: async () => null,
  };
}

/** Nobody moves, prunes or indexes these events until the transaction ends. */
async function hold(transaction: Transaction, seqs: readonly number[]): Promise<void> {
  const { session, t, moves, locks } = transaction;
  await locks.takeOfSeqs(seqs);
  await keepUnpruned(transaction, '$1::bigint[]', [seqs]);
  await session.run(moves.shelveLost(seqs));
  await holdIndex(session, t);
}

interface FoundRow extends ErasableEvent {
  /** of its bodies */
  readonly bytes: number;
  readonly isIndexed: boolean;
  /** in the index */
  readonly hasTerm: boolean;
}

async function erasableEvents(
  session: Session,
  t: Tables,
  seqs: readonly number[],
  entity: string,
): Promise<ReadonlyMap<number, FoundRow>> {
  const indexed = await indexedUpTo(session, t);
  const rows = await session.rows<ErasableEvent & { readonly bytes: number; readonly has_term: boolean }>(
    `SELECT events.seq, events.endpoint, events.id, events.type, events.entity, ${stateToActOn(t)},
       coalesce(octet_length(events.body), 0) + coalesce(octet_length(other.body), 0) AS bytes,
       (SELECT true FROM ${t.terms} AS terms WHERE terms.term = $2 AND terms.seq = events.seq LIMIT 1) IS NOT NULL AS has_term
     FROM ${joined(t)} LEFT JOIN ${rowOf(t.conflicts, 'other', 'found.seq = events.seq')} ON true
     WHERE events.seq = ANY($1::bigint[]) ORDER BY events.seq`,
    [seqs, toKey(entityTerm(entity))],
  );
  return new Map(
    rows.map(({ has_term: hasTerm, ...row }) => [
      row.seq,
      {
        ...row,
        isIndexed: row.seq <= indexed,
        hasTerm,
      },
    ]),
  );
}

type Bodies = ReadonlyMap<number, NamesInBody>;

/** An event that is not in the index yet is found by its body. */
async function foundEvents(
  session: Session,
  t: Tables,
  rows: readonly FoundRow[],
  bodies: Bodies,
  entity: string,
): Promise<readonly FoundEvent[]> {
  const term = entityTerm(entity);
  const events = rows.map(({ isIndexed, ...row }) => ({
    ...row,
    hasTerm: isIndexed ? row.hasTerm : termsOf(row.entity, bodies.get(row.seq) ?? namesIn(null)).has(term),
  }));
  const beside = await namesInBodies(
    session,
    t.conflicts,
    events.filter(({ hasTerm }) => !hasTerm),
  );
  return events.map((event) => ({ ...event, beside: beside.get(event.seq) ?? null }));
}

/** Reads some bodies at a time. */
async function namesInBodies(
  session: Session,
  table: string,
  events: readonly { readonly seq: number; readonly bytes: number }[],
): Promise<Bodies> {
  const names = new Map<number, NamesInBody>();
  for (let left = events; left.length > 0;) {
    const some = withinBudget(left);
    left = left.slice(some.length);
    const rows = await session.rows<{ seq: number; body: Buffer | null }>(
      `SELECT seq, body FROM ${table} WHERE seq = ANY($1::bigint[])`,
      [some.map(({ seq }) => seq)],
    );
    for (const { seq, body } of rows) names.set(seq, namesIn(body === null ? null : jsonText(body)));
  }
  return names;
}

async function save(
  transaction: Transaction,
  plan: ErasePlan,
  bodies: Bodies,
  entity: string,
  now: number,
): Promise<void> {
  const { session, t, moves, counts } = transaction;
  const { tombstones, discarded, left, emptied } = plan;
  const events = tombstones.map(({ event }) => event);
  const erased = events.map(({ seq }) => seq);
  const pending = discarded.map(({ seq }) => seq);
  const marked = events.flatMap(({ endpoint, entity: name }) => (name === null ? [] : [{ endpoint, name }]));
  const together: readonly Write[] = [
    moves.erase(
      events.map(({ seq, endpoint, id }) => ({ seq, slot: slotOf(endpoint, null, id) })),
      now,
    ),
    {
      text: `UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL,
         error_name = CASE WHEN error_name IS NOT NULL THEN $2 END
       WHERE seq = ANY($1::bigint[])`,
      values: [erased, ERASED_ERROR],
    },
    { text: `DELETE FROM ${t.conflicts} WHERE seq = ANY($1::bigint[])`, values: [erased] },
    { text: `UPDATE ${t.conflicts} SET body = '' WHERE seq = ANY($1::bigint[])`, values: [emptied] },
    {
      text: `DELETE FROM ${t.terms} WHERE seq = ANY($1::bigint[]) AND term = ANY($2::text[])`,
      values: [erased, [...termsToForget(plan, bodies, entity)].map(toKey)],
    },
    {
      text: `DELETE FROM ${t.entities} AS marks USING unnest($1::text[], $2::text[]) AS given (entity, endpoint)
       WHERE marks.entity = ANY($1::text[]) AND marks.entity = given.entity AND marks.endpoint = given.endpoint`,
      values: [marked.map(({ name }) => toKey(name)), marked.map(({ endpoint }) => endpoint)],
    },
  ];
  await Promise.all([
    // These have a WITH, so each is a statement of its own.
    session.run(moves.erasePending(pending, now)),
    session.run(moves.eraseSettled(erased.filter((seq) => !pending.includes(seq)))),
    writeTogether(session, together),
  ]);
  if (discarded.length === 0) return;
  for (const { type } of discarded) counts.countType('discarded', type);
  const next = await nextInQueues(transaction, left, seenSince(now));
  await applyChanges(transaction, [{ kind: 'unparked', seqs: eventsToUnpark(next) }]);
}

/** An event may have been indexed before a rerun gave it its entity. */
function termsToForget({ tombstones }: ErasePlan, bodies: Bodies, entity: string): ReadonlySet<Term> {
  return new Set([
    entityTerm(entity),
    ...tombstones.flatMap(({ event }) => {
      const names = bodies.get(event.seq) ?? namesIn(null);
      return [...termsOf(event.entity, names), ...entityTerms(names)];
    }),
  ]);
}
