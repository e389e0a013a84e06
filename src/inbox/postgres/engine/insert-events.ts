import { InboxUnavailableError } from '../../../errors.ts';
import type { EventKey, IncomingEvent } from '../../event.ts';
import { firstStateOf } from '../../rules/first-state.ts';
import { foldedType } from '../../rules/counted-types.ts';
import type { Session } from '../driver/session.ts';
import { fromText, textOrNull, toText } from '../driver/values.ts';
import { keyOrNull } from '../sql/keys.ts';
import { slotOf } from '../sql/slots.ts';
import type { Scene } from './scene.ts';

/**
 * Stores events whose keys are new, in their order, by one statement that is a transaction of its own unless it is in one.
 *
 * @param counted - the minute that they are counted in, and which types handlers name; `null` where whoever asks counts them
 * @returns of each whether it was stored; of those with one key, the first
 */
export async function insertEvents(
  session: Session,
  moves: Scene['moves'],
  events: readonly IncomingEvent[],
  counted: { readonly at: number; readonly named: ReadonlySet<string> } | null,
): Promise<readonly boolean[]> {
  const column = (value: (event: IncomingEvent) => unknown): unknown[] => events.map(value);
  const rows = await session.rows<EventKey & Placed>(moves.insert, [
    column(({ endpoint }) => toText(endpoint)),
    column(({ id }) => toText(id)),
    column(({ type }) => textOrNull(type)),
    column(({ created }) => created?.ms ?? null),
    column(({ created }) => created?.ns ?? null),
    column(({ entity }) => textOrNull(entity)),
    column(({ endpoint, entity, id }) => slotOf(endpoint, entity, id)),
    column(({ verified }) => verified),
    column(({ receivedAt }) => receivedAt),
    column(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
    column(({ type }) => keyOrNull(type)),
    column(({ entity }) => keyOrNull(entity)),
    column((event) => firstStateOf(event).state === 'pending'),
    column(({ type }) => (counted === null ? null : toText(foldedType(type, counted.named)))),
    counted?.at ?? null,
    column(({ trace }) => textOrNull(trace ?? null)),
  ]);
  assertPlaced(rows);
  const stored = new Set(rows.map(({ endpoint, id }) => keyOf({ endpoint: fromText(endpoint), id: fromText(id) })));
  // The first of a key was stored, and the others are known by now.
  return events.map((event) => stored.delete(keyOf(event)));
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
  'Postgres stored an event without its row in queue or shelf, so the insert was rolled back. A trigger, rule or policy on the tables of ' +
  'hookbox blocks the write: run npx hookbox doctor to find it';

function keyOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}
