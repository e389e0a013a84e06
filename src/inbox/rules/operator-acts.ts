import { ConfigurationError } from '../../errors.ts';
import { entityOf, namedEntity, type EntityOf } from '../../events/entity.ts';
import { readEvent } from '../../events/parse.ts';
import type { EventKey, StoredEvent } from '../event.ts';
import type { Act, ActReport, ActResult } from '../operator/acts.ts';
import { Budget, type TimeSlice } from './budget.ts';
import { addNames, recordOf, sumsOf, type Counting } from './counted.ts';
import {
  decideAct,
  needsBody,
  type ActDecision,
  type ActedEvent,
  type ActMove,
  type RequestedAct,
  type BodyToday,
} from './decide-act.ts';
import type { Queue } from './store.ts';

export function decideOnStored(requested: RequestedAct, event: StoredEvent | null, rule?: EntityOf): ActDecision {
  if (event === null) return decideAct(requested, null, null);
  const known = { ...event, pruned: event.body === null };
  const isRead = event.body !== null && needsBody(requested, known);
  return decideAct(requested, known, isRead ? bodyToday(requested.act, known, event.body, rule) : null);
}

/**
 * `null` if the body does not fit the current schemas. An event keeps its entity; an event that was stored as invalid has
 * none, and gets one when it is rerun.
 *
 * @param rule - of the receiver, if it has one
 */
export function bodyToday(
  act: Act,
  event: Pick<ActedEvent, 'state' | 'deadReason'> & { readonly entity: string | null },
  body: Uint8Array,
  rule: EntityOf = entityOf,
): BodyToday | null {
  const { parsed, facts } = readEvent(body);
  if (!parsed.ok || facts === null) return null;
  // A discarded one may have been invalid before.
  const mayHaveNone = event.deadReason === 'invalid' || event.state === 'discarded';
  const isNamed = act === 'rerun' && mayHaveNone && event.entity === null;
  return { ...facts, entity: isNamed ? namedEntity(rule, parsed.event) : event.entity };
}

export const MOST_KEYS = 500;
/** Parsing this much blocks the event loop for about ten milliseconds. One event may have more. */
const MOST_BYTES = 512 * 1024;

export interface ActedRow extends EventKey, ActedEvent {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  /** without meaning unless it is pending */
  readonly dueMs?: number;
  readonly bytes: number;
}

export function actedAt(row: ActedRow, now: number): ActedRow {
  return { ...row, inBackoff: row.dueMs !== undefined && row.dueMs > now };
}

export interface Acting {
  readonly requested: RequestedAct;
  readonly now: number;
  readonly entity: EntityOf | undefined;
}

export interface EventMove {
  readonly event: ActedRow;
  readonly move: ActMove;
}

export interface ActsPlan {
  readonly results: readonly ActResult[];
  readonly moves: readonly EventMove[];
}

export function bodiesToRead(rows: readonly (ActedRow | null)[], { requested, now }: Acting): readonly number[] {
  return rows.flatMap((row) => (row !== null && needsBody(requested, actedAt(row, now)) ? [row.seq] : []));
}

/**
 * If an event is given twice, its second decision continues from the result of the first.
 *
 * @param rows - `null` where no event has the key
 * @param bodies - those of `bodiesToRead`, read in the transaction that moves the events
 * @param slice - may end it early, after at least one event
 */
export function planActs(
  rows: readonly (ActedRow | null)[],
  bodies: ReadonlyMap<number, Uint8Array>,
  { requested, now, entity }: Acting,
  slice?: TimeSlice,
): ActsPlan {
  const results: ActResult[] = [];
  const moves = new Map<number, EventMove>();
  for (const row of rows) {
    const moved = row === null ? undefined : moves.get(row.seq);
    const event = moved === undefined ? row && actedAt(row, now) : afterMove(moved);
    const body = event !== null && needsBody(requested, event) ? bodies.get(event.seq) : undefined;
    const today = event === null || body === undefined ? null : bodyToday(requested.act, event, body, entity);
    const decision = decideAct(requested, event, today);
    if (event !== null && decision.result === 'done') moves.set(event.seq, { event, move: decision.move });
    results.push(decision.result);
    slice?.add(row?.bytes ?? 0);
    if (slice?.isOver() === true) break;
  }
  return { results, moves: [...moves.values()] };
}

function afterMove({ event, move }: EventMove): ActedRow {
  const settled = { ...event, deadReason: null, inBackoff: false };
  if (move.name === 'discard') return { ...settled, state: 'discarded', type: move.content?.type ?? event.type };
  const { type, entity } = move.name === 'toPending' ? move.content : event;
  return { ...settled, state: 'pending', type, entity };
}

/** The queues whose fronts may have left. */
export function queuesToAdvance(moves: readonly EventMove[]): readonly Queue[] {
  const left = new Map<string, Queue>();
  for (const { event, move } of moves) {
    const { endpoint, entity } = event;
    if (move.name !== 'discard' || event.state !== 'pending' || entity === null) continue;
    left.set(JSON.stringify([endpoint, entity]), { endpoint, entity });
  }
  return [...left.values()];
}

export function countMoves(counts: Counting['counts'], moves: readonly EventMove[]): void {
  for (const { event, move } of moves) {
    if (move.name === 'toPending') counts.countType('rerun', move.content.type);
    if (move.name === 'processedToPending') counts.countType('rerun', event.type);
    if (move.name === 'discard') counts.countType('discarded', event.type);
  }
}

/** At most `most` events, with a mebibyte of bodies and one event more. */
export function nextBatch<T extends ActedRow | null>(rows: readonly T[], most: number): readonly T[] {
  const budget = new Budget();
  const batch: T[] = [];
  for (const row of rows.slice(0, most)) {
    batch.push(row);
    budget.spend(row?.bytes ?? 0);
    if (budget.isSpent) break;
  }
  return batch;
}

export function reportOf(keys: readonly EventKey[], results: readonly ActResult[]): Omit<ActReport, 'audit'> {
  return {
    results: keys.map((key, at) => ({ key, result: results[at] ?? 'unknown' })),
    counts: recordOf(addNames(sumsOf(), ...results)),
  };
}

export function auditedTarget(keys: readonly EventKey[], force: boolean): object {
  const byEndpoint = Object.groupBy(keys, ({ endpoint }) => endpoint);
  const groups = Object.entries(byEndpoint).map(([endpoint, of = []]) => ({ endpoint, ids: of.map(({ id }) => id) }));
  const [only] = groups;
  const target = only !== undefined && groups.length === 1 ? only : { events: groups };
  return { ...target, ...(force && { force }) };
}

/** Call both before the transaction: an error inside it also takes back the deliveries that share it. */
export function refuseTooManyKeys({ length }: readonly EventKey[]): void {
  if (length <= MOST_KEYS) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `One call accepts at most ${MOST_KEYS} events, but this one received ${length}. Use a bulk action ` +
      '(previewBulk, then runBulk).',
  );
}

export function refuseTooManyBytes({ length }: readonly EventKey[], bytes: number): void {
  if (length < 2 || bytes <= MOST_BYTES) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `One call accepts events whose bodies total at most ${MOST_BYTES} bytes, but the bodies of these ` +
      `${length} events total ${bytes}. Name fewer events, or use a bulk action (previewBulk, then runBulk).`,
  );
}
