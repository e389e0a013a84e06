import { jsonText } from '../../events/json.ts';
import { Budget, withinBudget } from '../rules/budget.ts';
import { entityTerm, entityTerms, termsOf, type NamesInBody } from '../rules/entity-terms.ts';
import {
  ERASED_ERROR,
  eventsAbout,
  planErase,
  type ErasableEvent,
  type Erased,
  type ErasePlan,
  type EventAbout,
} from '../rules/erasing.ts';
import type { Author } from './acts.ts';
import { actedEvents, addToLine } from './audit.ts';
import { sizeOf } from './export.ts';
import { namesIn } from './finding/bodies.ts';
import {
  byTables,
  type Dialect,
  type OperatorTables,
  type OperatorTransaction,
  type Rows,
  type Statement,
} from './sql.ts';
import { listedEvents } from './summaries.ts';

export function readAbout(
  tables: OperatorTables,
  seqs: readonly number[],
  entity: string,
): Promise<readonly EventAbout[]> {
  const { dialect } = tables;
  return tables.read(({ rows }) => about({ dialect, rows }, seqs, entity));
}

async function about(reading: Reading, seqs: readonly number[], entity: string): Promise<readonly EventAbout[]> {
  const found = await reading.rows<ErasableRow>(selectErasable(reading.dialect, seqs, entity));
  const unindexed = found.filter(({ isIndexed }) => !isIndexed);
  return among(reading, found, await namesInBodies(reading, 'events', unindexed), entity);
}

export function eraseSome(
  tables: OperatorTables,
  seqs: readonly number[],
  { entity, audit, author }: { readonly entity: string; readonly audit: number; readonly author: Author },
): Promise<Erased & { readonly worked: number }> {
  return tables.change(
    async (tx) => {
      const { now } = byTables(author)(tx);
      await tx.hold(seqs, 'index');
      const rows = await tx.rows<ErasableRow>(selectErasable(tx.dialect, seqs, entity));
      const found = new Map(rows.map((row) => [row.seq, row]));
      const sized = seqs.map((seq) => ({ seq, bytes: found.get(seq)?.bytes ?? 0 }));
      const batch = withinBudget(sized, new Budget(tables.bounds.erasedBytes));
      const some = batch.flatMap(({ seq }) => found.get(seq) ?? []);
      const bodies = await namesInBodies(tx, 'events', some);
      const plan = planErase(await among(tx, some, bodies, entity));
      await save(tx, plan, bodies, entity, now);
      const { acted, erased, inProcessing } = plan;
      await addToLine(tx, audit, { erased, inProcessing });
      tx.later(actedEvents(tx.dialect, audit, acted, now));
      return { erased, inProcessing, worked: batch.length };
    },
    { dueAt: author.now },
  );
}

interface Reading {
  readonly dialect: Dialect;
  readonly rows: Rows;
}

interface ErasableRow extends ErasableEvent {
  readonly bytes: number;
  readonly isIndexed: unknown;
  readonly hasTerm: unknown;
}

function selectErasable(dialect: Dialect, seqs: readonly number[], entity: string): Statement {
  const { t, event, indexed, stateToActOn, toKey } = dialect;
  const text = `
    SELECT events.seq, events.endpoint, events.id, events.type, events.entity, ${stateToActOn},
      ${sizeOf(dialect)} AS bytes, events.seq <= ${indexed} AS "isIndexed",
      (SELECT 1 FROM ${t.terms} AS terms WHERE terms.term = $2 AND terms.seq = events.seq LIMIT 1) IS NOT NULL AS "hasTerm"
    FROM ${listedEvents(dialect)} ${event.joins}`;
  return { text, values: [seqs, toKey(entityTerm(entity))] };
}

type Bodies = ReadonlyMap<number, NamesInBody>;

/** The body finds an event that is not indexed yet. */
async function among(
  reading: Reading,
  found: readonly ErasableRow[],
  bodies: Bodies,
  entity: string,
): Promise<readonly EventAbout[]> {
  const term = entityTerm(entity);
  const events = found.map(({ isIndexed, hasTerm, ...row }) => ({
    ...row,
    hasTerm: isIndexed ? Boolean(hasTerm) : termsOf(row.entity, bodies.get(row.seq) ?? namesIn(null)).has(term),
  }));
  const others = events.filter(({ hasTerm }) => !hasTerm);
  const beside = await namesInBodies(reading, 'conflicts', others);
  const all = events.map((event) => ({ ...event, beside: beside.get(event.seq) ?? null }));
  return eventsAbout(all, entity);
}

async function namesInBodies(
  { dialect: { t, list, joinRow }, rows }: Reading,
  table: 'events' | 'conflicts',
  events: readonly { readonly seq: number; readonly bytes: number }[],
): Promise<Bodies> {
  const text = `
    SELECT found.seq, found.body FROM ${list('$1', 'bigint')} ${joinRow(t[table], 'found', (row) => `${row}.seq = value`)}`;
  const names = new Map<number, NamesInBody>();
  for (let left = events; left.length > 0;) {
    const some = withinBudget(left);
    left = left.slice(some.length);
    const values = [some.map(({ seq }) => seq)];
    for (const { seq, body } of await rows<{ seq: number; body: Uint8Array | null }>({ text, values })) {
      names.set(seq, namesIn(body === null ? null : jsonText(body)));
    }
  }
  return names;
}

async function save(
  tx: OperatorTransaction,
  plan: ErasePlan,
  bodies: Bodies,
  entity: string,
  now: number,
): Promise<void> {
  const { t, anyOf, given, toKey, errorsGone } = tx.dialect;
  const { tombstones, discarded, left, emptied } = plan;
  const events = tombstones.map(({ event }) => event);
  const seqs = events.map(({ seq }) => seq);
  const ofThese = anyOf('seq', '$1', 'bigint');
  await tx.erase(tombstones, now);
  // A rerun may have given the event its entity after it was indexed.
  const terms = new Set([
    entityTerm(entity),
    ...events.flatMap((event) => {
      const names = bodies.get(event.seq) ?? namesIn(null);
      return [...termsOf(event.entity, names), ...entityTerms(names)];
    }),
  ]);
  const marked = events.flatMap(({ endpoint, entity: name }) => (name === null ? [] : [{ endpoint, name }]));
  tx.later(
    {
      text: `
        UPDATE ${t.attempts} SET ${errorsGone}, error_name = CASE WHEN error_name IS NOT NULL THEN $2 END WHERE ${ofThese}`,
      values: [seqs, ERASED_ERROR],
    },
    { text: `DELETE FROM ${t.conflicts} WHERE ${ofThese}`, values: [seqs] },
    { text: `DELETE FROM ${t.steps} WHERE ${ofThese}`, values: [seqs] },
    { text: `UPDATE ${t.conflicts} SET body = $2 WHERE ${ofThese}`, values: [emptied, new Uint8Array(0)] },
    {
      text: `DELETE FROM ${t.terms} WHERE ${ofThese} AND ${anyOf('term', '$2', 'text')}`,
      values: [seqs, [...terms].map(toKey)],
    },
    {
      text: `
        DELETE FROM ${t.entities} WHERE ${anyOf('entity', '$1', 'text')}
          AND (entity, endpoint) IN (SELECT entity, endpoint FROM ${given({ entity: 'text', endpoint: 'text' })})`,
      values: [marked.map(({ name }) => toKey(name)), marked.map(({ endpoint }) => endpoint)],
    },
  );
  for (const { type } of discarded) tx.counts.countType('discarded', type);
  if (left.length > 0) await tx.advance(left, now);
}
