import { ConfigurationError } from '../../errors.ts';
import type { EntityOf } from '../../events/entity.ts';
import type { EventKey } from '../event.ts';
import type { Act, ActOptions, ActReport, ActResult } from '../operator/acts.ts';
import type { AuditLines, Author } from './audit-line.ts';
import type { LatestTime, Counting, EntityQueue, Reruns, TimeSlice, Tombstones } from './engine.ts';
import { unparkNext } from './entity-order.ts';
import { bodyToday } from './body-today.ts';
import { askedByKey, decideAct, needsBody, type ActedEvent, type ActMove, type AskedAct } from './operator-acts.ts';
import { backToPending } from './rerun-event.ts';
import type { Steps } from './steps.ts';
import { Sums } from './sums.ts';

const MOST_KEYS = 500;
/** What is parsed at once blocks the event loop: this much for about ten milliseconds. One event may have more. */
const MOST_BYTES = 512 * 1024;

/** What an engine that operators can look into is asked for, beside what processors ask. */
export interface ActEngine
  extends LatestTime, Counting, EntityQueue, Pick<Reruns, 'toPending'>, Pick<Tombstones, 'bodyOf'> {
  /** An event as it is now, by its key or its `seq`; `null` for none. */
  acted(event: EventKey | number): Steps<ActedRow | null>;
  processedToPending(seq: number, now: number): Steps<void>;
  discard(seq: number, content: Extract<ActMove, { name: 'discard' }>['content'], now: number): Steps<void>;
  /** Makes a pending event due. */
  retryNow(seq: number, now: number): Steps<void>;
}

/** An event as far as an action decides about it. */
export interface ActedRow extends EventKey, ActedEvent {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  /** when a pending one may be claimed; nothing is said of any other */
  readonly dueMs?: number;
  /** the length of its body */
  readonly bytes: number;
}

/** An event as an action finds it then. */
export function actedAt(row: ActedRow, now: number): ActedRow {
  return { ...row, inBackoff: row.dueMs !== undefined && row.dueMs > now };
}

/** Acts on events that are named, all in one transaction with their line in the audit. */
export function* actOnKeys(
  engine: ActEngine & AuditLines,
  act: Act,
  keys: readonly EventKey[],
  author: Author,
  { force = false, entity, states }: ActOptions,
): Steps<ActReport> {
  const acted: number[] = [];
  const acting = { asked: askedByKey(act, force, states), entity, now: author.now, acted };
  const outcomes = yield* actOnEvents(engine, keys, acting);
  const counts = new Sums().add(...outcomes).toRecord();
  const audit = yield* engine.addAuditLine(act, author, { ...named(keys), ...(force && { force }) }, counts);
  if (acted.length > 0) yield* engine.noteActed(audit, acted, author.now);
  const results = outcomes.map((result, at) => ({ key: keys[at] as EventKey, result })); // one for each key
  return { results, counts, audit };
}

/**
 * Call it before the transaction: what is thrown inside one takes the deliveries that share it along.
 *
 * @throws ConfigurationError `INVALID_OPTION` for more than one action may be on
 */
export function* refuseTooManyKeys(engine: Pick<ActEngine, 'acted'>, keys: readonly EventKey[]): Steps<void> {
  if (keys.length > MOST_KEYS) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `One call accepts at most ${MOST_KEYS} events, but this one received ${keys.length}. Use a bulk action ` +
        '(previewBulk, then runBulk).',
    );
  }
  if (keys.length < 2) return;
  let bytes = 0;
  for (const key of keys) bytes += (yield* engine.acted(key))?.bytes ?? 0;
  if (bytes <= MOST_BYTES) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `One call accepts events whose bodies total at most ${MOST_BYTES} bytes, but the bodies of these ` +
      `${keys.length} events total ${bytes}. Name fewer events, or use a bulk action (previewBulk, then runBulk).`,
  );
}

/** The target of an action in the audit: `{ endpoint, ids }`, or a list of these where there are several endpoints. */
function named(keys: readonly EventKey[]) {
  const byEndpoint = Object.groupBy(keys, ({ endpoint }) => endpoint);
  const groups = Object.entries(byEndpoint).map(([endpoint, of = []]) => ({ endpoint, ids: of.map(({ id }) => id) }));
  const [only] = groups;
  return only !== undefined && groups.length === 1 ? only : { events: groups };
}

/** An action, and when it is written. */
export interface Acting {
  readonly asked: AskedAct;
  readonly now: number;
  /** the receiver's rule, where it has one */
  readonly entity: EntityOf | undefined;
  /** gets the `seq` of each event that something was done to */
  readonly acted?: number[];
}

/**
 * Acts on one event after the other. Each is looked at just before its turn, so that a key given twice finds what
 * became of the first.
 *
 * @param slice - ends it early: there are as many results as events were acted on
 */
export function* actOnEvents(
  engine: ActEngine,
  events: readonly (EventKey | number)[],
  acting: Acting,
  slice?: TimeSlice,
): Steps<ActResult[]> {
  const results: ActResult[] = [];
  const fronts = new Map<string, ActedRow>();
  for (const event of events) {
    const row = yield* engine.acted(event);
    const result = yield* actOnEvent(engine, row, acting);
    results.push(result);
    // Once for each entity and not for each event: ten thousand of one entity may go at a time.
    // One that is retried now stays where it is.
    const left = row?.state === 'pending' && result === 'done' && acting.asked.act === 'discard';
    if (left) fronts.set(JSON.stringify([row.endpoint, row.entity]), row);
    slice?.add(row?.bytes ?? 0);
    if (slice?.isOver() === true) break;
  }
  yield* unparkNext(engine, [...fronts.values()], acting.now);
  return results;
}

/** The body is read in the transaction that moves the event: no other one can take its place meanwhile. */
function* actOnEvent(
  engine: ActEngine,
  found: ActedRow | null,
  { asked, entity, now, acted }: Acting,
): Steps<ActResult> {
  const row = found && actedAt(found, now);
  const isRead = row !== null && needsBody(asked, row);
  const today = isRead ? bodyToday(asked.act, row, yield* engine.bodyOf(row.seq), entity) : null;
  const decision = decideAct(asked, row, today);
  if (row !== null && decision.result === 'done') {
    yield* carryOut(engine, row, decision.move, now);
    acted?.push(row.seq);
  }
  return decision.result;
}

/** Makes the move, and counts it. */
function* carryOut(engine: ActEngine, row: ActedRow, move: ActMove, now: number): Steps<void> {
  switch (move.name) {
    case 'toPending':
      yield* backToPending(engine, row, move.content, now);
      break;
    case 'processedToPending':
      yield* engine.processedToPending(row.seq, now);
      yield* engine.noteTime(now);
      engine.counts.countType('rerun', row.type);
      break;
    case 'discard':
      yield* engine.discard(row.seq, move.content, now);
      engine.counts.countType('discarded', row.type);
      break;
    case 'retry-now':
      yield* engine.retryNow(row.seq, now);
      yield* engine.noteTime(now);
      break;
  }
}
