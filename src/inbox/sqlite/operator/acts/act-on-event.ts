import { entityOf, namedEntity, type EntityOf } from '../../../../events/entity.ts';
import { readEvent } from '../../../../events/parse.ts';
import type { EventKey, IncomingEvent } from '../../../event.ts';
import { statesOf } from '../../../rules/operator-acts.ts';
import type { Act, ActResult } from '../../../operator/acts.ts';
import type { DeadReason, EventState } from '../../../state.ts';
import type { SqliteDatabase } from '../../database.ts';
import { unparkNext } from '../../entity-queue.ts';
import { noteTime } from '../../follow-clock.ts';
import { rerun } from '../../rerun-event.ts';
import type { Statements } from '../../statements.ts';
import { statement } from '../../prepared-statement.ts';

/** What an act does to each event that it comes to. */
export interface Acting {
  readonly act: Act;
  readonly force: boolean;
  readonly now: number;
  readonly entity: EntityOf | undefined;
}

/** An event as far as an act decides about it; the CHECKs of the table hold the unions. */
export interface ActRow extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly pruned: 0 | 1;
  readonly discarded: 0 | 1;
}

type Content = Pick<IncomingEvent, 'type' | 'created' | 'entity'>;

const COLUMNS =
  'seq, endpoint, id, type, entity, state, dead_reason, body IS NULL AS pruned, discarded_ms IS NOT NULL AS discarded';

export function rowOfKey(database: SqliteDatabase, { id, endpoint }: EventKey): ActRow | undefined {
  const sql = `SELECT ${COLUMNS} FROM hookbox_events WHERE id = ? AND endpoint = ?`;
  return statement(database, sql).get(id, endpoint) as ActRow | undefined;
}

export function rowOfSeq(database: SqliteDatabase, seq: number): ActRow | undefined {
  return statement(database, `SELECT ${COLUMNS} FROM hookbox_events WHERE seq = ?`).get(seq) as ActRow | undefined;
}

/**
 * Acts on one event after the other, inside a transaction. Each row is looked up just before its turn, so that a key given
 * twice finds what became of the first.
 *
 * @param goOn - asked after each one; with `false` the rest is left as it is
 */
export function actOnEach<Item>(
  database: SqliteDatabase,
  statements: Statements,
  items: readonly Item[],
  look: (item: Item) => ActRow | undefined,
  acting: Acting,
  goOn: () => boolean = () => true,
): ActResult[] {
  const results: ActResult[] = [];
  const fronts = new Map<string, ActRow>();
  for (const item of items) {
    const row = look(item);
    const result = row === undefined ? 'unknown' : move(database, statements, row, acting);
    results.push(result);
    // Once for each entity and not for each event: ten thousand of one entity may go at a time.
    if (row?.state === 'pending' && result === 'done') fronts.set(JSON.stringify([row.endpoint, row.entity]), row);
    if (!goOn()) break;
  }
  for (const row of fronts.values()) unparkNext(statements, row, acting.now);
  return results;
}

/** The only place where an operator's act moves an event, and where it is counted. */
function move(database: SqliteDatabase, statements: Statements, row: ActRow, acting: Acting): ActResult {
  if (!statesOf(acting.act, acting.force).includes(row.state)) return 'not needed';
  return acting.act === 'rerun'
    ? moveToPending(database, statements, row, acting)
    : moveToIgnored(database, statements, row, acting);
}

/** As `rerun` of `src/ops/rerun.ts`, but in the transaction that reads the body: no other one can take its place meanwhile. */
function moveToPending(
  database: SqliteDatabase,
  statements: Statements,
  row: ActRow,
  { now, entity }: Acting,
): ActResult {
  if (row.pruned === 1) return 'pruned';
  const content = contentToday(database, row, entity);
  if (content === null) return 'still invalid';
  if (row.state !== 'processed') {
    return rerun(statements, row, content, now, undefined) ? 'done' : 'not needed';
  }
  // Its type, time and entity are what they were: they belong to the attempt that has succeeded.
  const { changes } = statements.moves.processedToPending.run({ seq: row.seq, now });
  if (changes === 0) return 'not needed';
  noteTime(statements, now);
  statements.counts.countType('rerun', row.type);
  return 'done';
}

/**
 * An ignored event has a type and a time (the CHECKs of the table say so), which an invalid one has only if its body fits
 * today's schemas. If it does not, it stays dead: pruning takes its body, and so does erasing.
 */
function moveToIgnored(database: SqliteDatabase, statements: Statements, row: ActRow, { now }: Acting): ActResult {
  let facts: Content | null = null;
  if (row.dead_reason === 'invalid') {
    if (row.pruned === 1) return 'pruned';
    // Without an entity, which the receiver's own rule may name otherwise when it is rerun.
    facts = contentToday(database, row, () => null);
    if (facts === null) return 'still invalid';
  }
  const { changes } = statements.moves.discard.run({
    seq: row.seq,
    now,
    type: facts?.type ?? null,
    created_ms: facts?.created?.ms ?? null,
    created_ns: facts?.created?.ns ?? null,
  });
  if (changes === 0) return 'not needed';
  statements.counts.countType('discarded', row.type);
  return 'done';
}

/** What today's schemas make of the stored bytes; `null` when they do not fit. */
function contentToday(database: SqliteDatabase, row: ActRow, entity: EntityOf = entityOf): Content | null {
  const found = statement(database, 'SELECT body FROM hookbox_events WHERE seq = ?').get(row.seq);
  const { parsed, facts } = readEvent((found as { body: Uint8Array }).body);
  if (!parsed.ok || facts === null) return null;
  // An invalid event was stored without one, and may have been discarded since; any other keeps what its receiver said.
  const wasInvalid = row.dead_reason === 'invalid' || row.discarded === 1;
  return { ...facts, entity: row.entity ?? (wasInvalid ? namedEntity(entity, parsed.event) : null) };
}
