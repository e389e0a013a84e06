import { InboxUnavailableError } from '../../../errors.ts';
import type { EventKey, IncomingEvent } from '../../event.ts';
import type { Ahead } from '../../rules/accept.ts';
import { foldedType } from '../../rules/counted.ts';
import type { NewLease } from '../../rules/store.ts';
import type { Lease } from '../../work.ts';
import type { Session } from '../driver/session.ts';
import type { Moves } from '../moves.ts';
import { contentColumns } from '../sql/records.ts';
import { given, lists } from '../sql/statements.ts';
import { slotOf } from '../sql/tables.ts';
import { leased } from './entity-queue.ts';
import type { Transaction } from './transaction.ts';

/** An event to store, and the lease that it is stored under. */
export interface Insertion extends IncomingEvent {
  readonly claim?: Pick<NewLease, 'now' | 'until' | 'ordered' | 'claimNumber'> | undefined;
}

/**
 * Stores events whose keys are new, in their order, in one statement.
 *
 * @param counted - the minute that they are counted in, and which types handlers name
 * @returns the number of each stored event, and the fence of its lease; of those with one key, the first is stored
 */
export async function insertEvents(
  session: Session,
  moves: Moves,
  events: readonly Insertion[],
  counted: { readonly at: number; readonly named: ReadonlySet<string> },
): Promise<readonly (Lease | undefined)[]> {
  const insertions = events.map(({ endpoint, id, verified, receivedAt, body, valid, trace, claim, ...content }) => ({
    endpoint,
    id,
    ...contentColumns(content),
    slot: slotOf(endpoint, content.entity, id),
    verified,
    received_ms: receivedAt,
    body,
    trace: trace ?? null,
    valid,
    counted: foldedType(content.type, counted.named),
    claimed_ms: claim?.now ?? null,
    lease_until_ms: claim?.until ?? null,
    in_order: claim?.ordered ?? false,
    claim: claim?.claimNumber ?? null,
  }));
  const rows = await session.rows<(EventKey & Placed & { seq: number; fence: null }) | (Lease & { id: null })>(
    moves.insert(insertions, counted.at),
  );
  const inserted = rows.filter((row) => row.id !== null);
  assertPlaced(inserted);
  const fences = new Map(rows.filter((row) => row.id === null).map(({ seq, fence }) => [seq, fence]));
  const stored = new Map(inserted.map((row) => [keyOf(row), row.seq]));
  return events.map((event) => {
    const key = keyOf(event);
    const seq = stored.get(key);
    // The first of a key was stored, and the others are known by now.
    stored.delete(key);
    return seq === undefined ? undefined : { seq, fence: fences.get(seq) ?? 0 };
  });
}

/** How many of all that were stored together have a place. */
export interface Placed {
  readonly placed: number;
}

/** Throws for an event without a place: a rule or trigger on the server may silently keep a row from being written. */
export function assertPlaced(rows: readonly Placed[]): void {
  if (rows.every(({ placed }) => placed === rows.length)) return;
  throw new InboxUnavailableError('FAILED', UNPLACED);
}

const UNPLACED =
  'Postgres stored an event without its row in the table queue or shelf, so hookbox rolled the insert back. A ' +
  'trigger, rule or policy on the tables of hookbox blocks the write: to find it, run npx hookbox doctor';

/** A name for a key. */
export function keyOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}

const AHEAD = 'endpoint, type, entity_key, created_ms, created_ns, place';

/**
 * For each new event, what may have to run before it, apart from the other new ones. It locks the free slots of the events
 * until the transaction ends. It returns `undefined` for an event whose slot another transaction holds. That transaction may
 * change the answer.
 */
export async function readAhead(
  { session, t, locks }: Pick<Transaction, 'session' | 't' | 'locks'>,
  events: readonly IncomingEvent[],
): Promise<readonly (Ahead | undefined)[]> {
  const slots = events.map(({ endpoint, entity, id }) => slotOf(endpoint, entity, id));
  const same = (column: string): string => `${column} = given.entity_key AND endpoint = given.endpoint`;
  // Postgres reads after it has taken the locks: a statement does not see commits after its begin.
  const [held, rows] = await Promise.all([
    locks.takeFree(slots),
    session.rows<Pick<Ahead, 'isPaused' | 'isEntityBusy' | 'isSuperseded' | 'latest'>>(
      `SELECT (SELECT latest_ms FROM ${t.clock}) AS latest,
         EXISTS (SELECT 1 FROM ${t.pauses} WHERE endpoint = given.endpoint AND type = given.type) AS "isPaused",
         EXISTS (${leased('1', same, t)}) OR EXISTS (
           SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NULL AND entity IS NOT NULL AND ${same('entity')}
         ) AS "isEntityBusy",
         EXISTS (SELECT 1 FROM ${t.entities} AS done
           WHERE ${same('entity')} AND (done.created_ms, done.created_ns) > (given.created_ms, given.created_ns)
         ) AS "isSuperseded"
       FROM ${given(AHEAD)} ORDER BY place`,
      lists(
        AHEAD,
        events.map((event) => ({ endpoint: event.endpoint, ...contentColumns(event) })),
      ),
    ),
  ]);
  return rows.map((row, at) => {
    // New events are in the indexes for work at once, so they are never crowded.
    return held.has(slots[at] ?? NaN) ? { ...row, isCrowded: false, isMovingBack: false } : undefined;
  });
}
