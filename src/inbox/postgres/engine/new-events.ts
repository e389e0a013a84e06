import { InboxUnavailableError } from '../../../errors.ts';
import type { EventKey, IncomingEvent } from '../../event.ts';
import { firstStateOf, type Ahead } from '../../rules/accept.ts';
import { foldedType } from '../../rules/counted.ts';
import type { Lease } from '../../work.ts';
import type { NewLease } from '../../rules/store.ts';
import type { Session } from '../driver/session.ts';
import { keyOrNull, slotOf } from '../sql/tables.ts';
import { leased } from './entity-queue.ts';
import type { Scene } from './transaction.ts';

/** An event to store, and the lease that it is stored under. */
export interface Insertion extends IncomingEvent {
  readonly claim?: Pick<NewLease, 'now' | 'until' | 'ordered' | 'claimNumber'> | undefined;
}

/**
 * Stores events whose keys are new, in their order, by one statement that is a transaction of its own unless it is in one.
 *
 * @param counted - the minute that they are counted in, and which types handlers name; `null` where whoever asks counts them
 * @returns for each that was stored its place, and the fence of its lease; of those with one key, the first is stored
 */
export async function insertEvents(
  session: Session,
  moves: Scene['moves'],
  events: readonly Insertion[],
  counted: { readonly at: number; readonly named: ReadonlySet<string> } | null,
): Promise<readonly (Lease | undefined)[]> {
  const column = (value: (event: Insertion) => unknown): unknown[] => events.map(value);
  const rows = await session.rows<(EventKey & Placed & { seq: number; fence: null }) | (Lease & { id: null })>(
    moves.insert,
    [
      column(({ endpoint }) => endpoint),
      column(({ id }) => id),
      column(({ type }) => type),
      column(({ created }) => created?.ms ?? null),
      column(({ created }) => created?.ns ?? null),
      column(({ entity }) => entity),
      column(({ endpoint, entity, id }) => slotOf(endpoint, entity, id)),
      column(({ verified }) => verified),
      column(({ receivedAt }) => receivedAt),
      column(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
      column(({ type }) => keyOrNull(type)),
      column(({ entity }) => keyOrNull(entity)),
      column((event) => firstStateOf(event).state === 'pending'),
      column(({ type }) => (counted === null ? null : foldedType(type, counted.named))),
      counted?.at ?? null,
      column(({ trace }) => trace ?? null),
      column(({ claim }) => claim?.now ?? null),
      column(({ claim }) => claim?.until ?? null),
      column(({ claim }) => claim?.ordered ?? false),
      column(({ claim }) => claim?.claimNumber ?? null),
    ],
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

interface AheadRow {
  readonly paused: boolean;
  readonly busy: boolean;
  readonly superseded: boolean;
  readonly latest_ms: number;
}

/**
 * For each new event, what may have to run before it, apart from the other new ones. It locks the free slots of the events
 * until the transaction ends. It returns `undefined` for an event whose slot another transaction holds. That transaction may
 * change the answer.
 */
export async function readAhead(
  { session, t, locks }: Pick<Scene, 'session' | 't' | 'locks'>,
  events: readonly IncomingEvent[],
): Promise<readonly (Ahead | undefined)[]> {
  const slots = events.map(({ endpoint, entity, id }) => slotOf(endpoint, entity, id));
  const same = (column: string): string => `${column} = given.entity AND endpoint = given.endpoint`;
  const column = (value: (event: IncomingEvent) => unknown): unknown[] => events.map(value);
  // The answer is of a moment after that in which the locks were taken: a statement does not see what was committed after its begin.
  const [held, rows] = await Promise.all([
    locks.takeFree(slots),
    session.rows<AheadRow>(
      `SELECT (SELECT latest_ms FROM ${t.clock}) AS latest_ms,
         EXISTS (SELECT 1 FROM ${t.pauses} WHERE endpoint = given.endpoint AND type = given.type) AS paused,
         EXISTS (${leased('1', same, t)}) OR EXISTS (
           SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NULL AND entity IS NOT NULL AND ${same('entity')}
         ) AS busy,
         EXISTS (SELECT 1 FROM ${t.entities}
           WHERE ${same('entity')} AND (created_ms, created_ns) > (given.ms, given.ns)) AS superseded
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::integer[])
         WITH ORDINALITY AS given (endpoint, type, entity, ms, ns, place) ORDER BY place`,
      [
        column(({ endpoint }) => endpoint),
        column(({ type }) => type),
        column(({ entity }) => keyOrNull(entity)),
        column(({ created }) => created?.ms ?? null),
        column(({ created }) => created?.ns ?? null),
      ],
    ),
  ]);
  return rows.map((row, at) => {
    const slot = slots[at];
    if (slot === undefined || !held.has(slot)) return undefined;
    const { paused: isPaused, busy: isEntityBusy, superseded: isSuperseded, latest_ms: latest } = row;
    // What arrives is in the indexes for work at once.
    return { isCrowded: false, isPaused, isEntityBusy, isSuperseded, latest, isMovingBack: false };
  });
}
