import { jsonText } from '../../../events/json.ts';
import { performance } from '../../../host/real-timers.ts';
import type { PrunableState } from '../../event.ts';
import { actedEvents } from '../../operator/audit.ts';
import type { ErasingEngine } from '../../operator/erasing.ts';
import { namesIn } from '../../operator/finding/bodies.ts';
import type { PruningEngine } from '../../operator/pruning.ts';
import { withinBudget, Budget } from '../../rules/budget.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import { entityTerm, entityTerms, termsOf, type NamesInBody, type Term } from '../../rules/entity-terms.ts';
import {
  ERASED_ERROR,
  eventsAbout,
  planErase,
  type ErasableEvent,
  type ErasePlan,
  type FoundEvent,
} from '../../rules/erasing.ts';
import { seenSince } from '../../rules/processors.ts';
import {
  type PruneCriteria,
  type PrunePosition,
  planPrune,
  type LookedAt,
  type SettledEvent,
} from '../../rules/pruning.ts';
import { doneOnce } from '../driver/database.ts';
import type { Session } from '../driver/session.ts';
import { applyChanges } from '../engine/apply-changes.ts';
import { endpointsOf } from '../engine/due-events.ts';
import { nextInQueues } from '../engine/entity-queue.ts';
import { prunableIn } from '../engine/settled-events.ts';
import type { Transaction, Reading } from '../engine/transaction.ts';
import { pruneErrors } from '../moves.ts';
import { joined, stateToActOn, STATE } from '../sql/records.ts';
import { writeTogether, type Write } from '../sql/statements.ts';
import { toKey, slotOf, rowOf, type Tables } from '../sql/tables.ts';
import { holdBySeq } from './acts.ts';
import { type Access, addToAuditLine, postgres } from './operator-tables.ts';
import { holdIndex, selectIndexed } from './search-indexes.ts';

export function erasingEngine({ store, ask }: Access): ErasingEngine {
  const { database, t, time, within, writeAt } = store;
  return {
    // They are numbered before they are committed.
    notesInOrder: false,
    about: (found, entity) =>
      ask(() =>
        database.read(async (session) => {
          const rows = await erasableEvents({ session, t }, found, entity);
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
        doneOnce(database, {
          before: (session) => writeAt(session, author.now),
          async work(session) {
            const now = time.toDatabase(author.now);
            const transaction = within(session);
            const given = events.map(({ seq }) => seq);
            // No other transaction moves, prunes or indexes these events until this one ends.
            await holdBySeq(transaction, given);
            await session.run(transaction.moves.shelveLost(given));
            await holdIndex(transaction);
            const rowsFound = await erasableEvents(transaction, given, entity);
            const found = new Map(rowsFound.map((row) => [row.seq, row]));
            const batch = withinBudget(given.map((seq) => ({ seq, bytes: found.get(seq)?.bytes ?? 0 })));
            const rows = batch.flatMap(({ seq }) => found.get(seq) ?? []);
            const bodies = await namesInBodies(session, t.events, rows);
            const plan = planErase(eventsAbout(await foundEvents(session, t, rows, bodies, entity), entity));
            await saveErased(transaction, plan, bodies, entity, now);
            const { acted, erased, inProcessing } = plan;
            await addToAuditLine(transaction, audit, { erased, inProcessing });
            if (acted.length > 0) await session.run(actedEvents(postgres(t), audit, acted, now));
            return { erased, inProcessing, worked: batch.length };
          },
        }),
      ),
    // It is the whole server's.
    emptyLog: async () => null,
  };
}

interface FoundRow extends ErasableEvent {
  /** of its bodies */
  readonly bytes: number;
  readonly isIndexed: boolean;
  /** in the index */
  readonly hasTerm: boolean;
}

async function erasableEvents(
  { session, t }: Reading,
  seqs: readonly number[],
  entity: string,
): Promise<readonly FoundRow[]> {
  return session.rows<FoundRow>(
    `SELECT events.seq, events.endpoint, events.id, events.type, events.entity, ${stateToActOn(t)},
       coalesce(octet_length(events.body), 0) + coalesce(octet_length(other.body), 0) AS bytes,
       events.seq <= ${selectIndexed(t)} AS "isIndexed",
       (SELECT true FROM ${t.terms} AS terms WHERE terms.term = $2 AND terms.seq = events.seq LIMIT 1) IS NOT NULL AS "hasTerm"
     FROM ${joined(t)} LEFT JOIN ${rowOf(t.conflicts, 'other', 'found.seq = events.seq')} ON true
     WHERE events.seq = ANY($1::bigint[]) ORDER BY events.seq`,
    [seqs, toKey(entityTerm(entity))],
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

async function saveErased(
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

/** One transaction prunes bodies of so many bytes at most, and one body more. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Deliveries wait only for the slots of these events, so a batch may take longer than in SQLite, and pruning rests less. */
const LONGER = 50;
const RESTS_LESS = 4;

export function pruningEngine({ store, ask }: Access): PruningEngine {
  const { database, time, read, within } = store;
  return {
    hasIndex: () => true,
    lookAt: (criteria, from, looked) =>
      ask(() =>
        read((reading) => {
          const before = time.toDatabase(criteria.settledBefore.getTime());
          return lookAt(reading, { ...criteria, before }, from, looked);
        }),
      ),
    async prune(found, settledBefore, audit) {
      let heldSince = 0;
      const done = await ask(() =>
        doneOnce(database, {
          before: (session) => time.follow(session),
          async work(session) {
            heldSince = performance.now();
            const transaction = within(session);
            const settled = await heldEvents(transaction, found);
            const before = time.toDatabase(settledBefore.getTime());
            const plan = planPrune(found, settled, before, new Budget(MOST_BYTES));
            await savePruned(transaction, plan.prune);
            const pruned = plan.prune.length;
            if (audit !== undefined) await addToAuditLine(transaction, audit, { pruned });
            return { pruned, worked: plan.worked, workMs: (performance.now() - heldSince) / LONGER };
          },
        }),
      );
      return { ...done, heldMs: (performance.now() - heldSince) / RESTS_LESS };
    },
  };
}

/** No other transaction moves or prunes these events until this one ends. */
async function heldEvents(
  transaction: Transaction,
  found: readonly PrunePosition[],
): Promise<ReadonlyMap<number, SettledEvent>> {
  const { session, t } = transaction;
  const seqs = found.map(({ seq }) => seq);
  await holdBySeq(transaction, seqs);
  const rows = await session.rows<SettledEvent & { readonly seq: number }>(
    `SELECT events.seq, ${STATE}, octet_length(events.body) AS bytes,
       coalesce(shelf.settled_ms,
         (SELECT ended_ms FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq AND prunable LIMIT 1),
         (SELECT settled_ms FROM ${t.imported} AS imported WHERE imported.seq = events.seq AND prunable)) AS "settledAt"
     FROM ${joined(t)} WHERE events.seq = ANY($1::bigint[])`,
    [seqs],
  );
  return new Map(rows.map((row) => [row.seq, row]));
}

async function savePruned({ session, t, moves }: Transaction, seqs: readonly number[]): Promise<void> {
  await session.run(moves.pruneMany(seqs));
  await writeTogether(session, [
    { text: pruneErrors(t), values: [seqs] },
    { text: `DELETE FROM ${t.conflicts} WHERE seq = ANY($1::bigint[])`, values: [seqs] },
  ]);
}

/** The first behind a position, in the order in which they were settled. */
async function lookAt(
  reading: Reading,
  { endpoint, before }: Pick<PruneCriteria, 'endpoint'> & { readonly before: number },
  from: PrunePosition,
  looked: number,
): Promise<readonly LookedAt[]> {
  const { state } = from;
  const { session, t } = reading;
  const endpoints = endpoint === undefined ? await endpointsIn(reading, state) : [endpoint];
  // Settled events are ordered by time at each endpoint.
  const lanes = tablesOf(t, state).map(
    ([table, time, where]) =>
      `SELECT next.* FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN LATERAL (
         SELECT seq, ${time} AS settled_ms FROM ${table} AS settled
         WHERE ${where} AND endpoint = named.endpoint AND ${time} < $2::bigint AND (${time}, seq) > ($3::bigint, $4::bigint)
         ORDER BY ${time}, seq LIMIT $5
       ) AS next`,
  );
  return session.rows<LookedAt>(
    `SELECT next.seq, next.settled_ms AS "settledMs", events.type, events.endpoint
     FROM (SELECT * FROM (${lanes.join(' UNION ALL ')}) AS lanes ORDER BY settled_ms, seq LIMIT $5) AS next
       CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = next.seq')}
     ORDER BY next.settled_ms, next.seq`,
    [endpoints, before, from.settledMs, from.seq, looked],
  );
}

type Lane = readonly [table: string, time: string, where: string];

function tablesOf(t: Tables, state: PrunableState): readonly Lane[] {
  if (state !== 'processed') return [[t.shelf, 'settled_ms', onShelf(state)]];
  return prunableIn(t).map(([table, time]) => [table, time, 'prunable']);
}

function onShelf(state: PrunableState): string {
  return `state = '${state}' AND NOT pruned`;
}

async function endpointsIn({ session, t }: Reading, state: PrunableState): Promise<readonly string[]> {
  if (state !== 'processed') return endpointsOf({ session }, t.shelf, onShelf(state), 'state, endpoint, settled_ms');
  const found = new Set<string>();
  for (const [table, time] of prunableIn(t)) {
    for (const endpoint of await endpointsOf({ session }, table, 'prunable', `endpoint, ${time}`)) found.add(endpoint);
  }
  return [...found];
}
