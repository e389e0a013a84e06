import type { EntityOf } from '../../../../events/entity.ts';
import { ConfigurationError } from '../../../../errors.ts';
import type { EventKey } from '../../../event.ts';
import type { ActReport, ActResult, Acts } from '../../../operator/acts.ts';
import { Sums } from '../../../operator/sums.ts';
import {
  askedByKey,
  bodyToday,
  decideAct,
  needsBody,
  type ActedEvent,
  type ActMove,
  type AskedAct,
} from '../../../rules/operator-acts.ts';
import type { SqliteDatabase } from '../../database.ts';
import { unparkNext } from '../../entity-queue.ts';
import { noteTime } from '../../follow-clock.ts';
import { BYTES } from '../../moves.ts';
import { statement } from '../../prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { addAuditLine } from '../audit/audit-line.ts';
import { atCommit, authorOf } from '../audit/author.ts';
import { reindex } from '../search/search-words.ts';

const MOST_KEYS = 500;
/** What is parsed at once blocks the event loop: this much for about ten milliseconds. One event may have more. */
const MOST_BYTES = 512 * 1024;

/** Acts on events that are named, all in one commit with their line in the audit. */
export function actsOnEvents(access: Access): Pick<Acts, 'act'> {
  return {
    async act(act, keys, by, { force = false, entity }) {
      const author = authorOf(by);
      refuseTooMany(access.database(), keys);
      const report = await access.write((statements, waitedMs): ActReport => {
        const { database } = statements;
        const actor = atCommit(author, waitedMs);
        const acting = { asked: askedByKey(act, force), entity, now: actor.now };
        const outcomes = actOnEach(statements, rowsOfKeys(database, keys), acting);
        const counts = new Sums().add(...outcomes).toRecord();
        const audit = addAuditLine(database, act, actor, { ...named(keys), ...(force && { force }) }, counts);
        const results = outcomes.map((result, at) => ({ key: keys[at] as EventKey, result })); // one for each key
        return { results, counts, audit };
      });
      if (report.counts.done !== undefined) access.notify();
      return report;
    },
  };
}

/** What an act does to each event that it comes to. */
export interface Acting {
  readonly asked: AskedAct;
  readonly now: number;
  readonly entity: EntityOf | undefined;
}

/** An event as far as an act decides about it. */
export interface ActRow extends EventKey, ActedEvent {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly discarded: boolean;
  /** of its body */
  readonly bytes: number;
}

/**
 * Acts on one event after the other, inside a transaction. Each row is read just before its turn, so that a key given
 * twice finds what became of the first.
 *
 * @param goOn - asked after each one, with how many bytes its row has; with `false` the rest is left as it is
 */
export function actOnEach(
  statements: Statements,
  rows: Iterable<ActRow | null>,
  acting: Acting,
  goOn: (bytes: number) => boolean = () => true,
): ActResult[] {
  const results: ActResult[] = [];
  const fronts = new Map<string, ActRow>();
  for (const row of rows) {
    const result = actOn(statements, row, acting);
    results.push(result);
    // Once for each entity and not for each event: ten thousand of one entity may go at a time.
    if (row?.state === 'pending' && result === 'done') fronts.set(JSON.stringify([row.endpoint, row.entity]), row);
    if (!goOn(row?.bytes ?? 0)) break;
  }
  for (const row of fronts.values()) unparkNext(statements, row, acting.now);
  return results;
}

/** The body is read in the transaction that moves the event: no other one can take its place meanwhile. */
function actOn(statements: Statements, row: ActRow | null, { asked, entity, now }: Acting): ActResult {
  const today =
    row !== null && needsBody(asked, row) ? bodyToday(asked.act, row, bodyOf(statements.database, row), entity) : null;
  const decision = decideAct(asked, row, today);
  if (row === null || decision.result !== 'done') return decision.result;
  return isMoved(statements, row, decision.move, now) ? 'done' : 'not needed';
}

/** Makes the move, and counts it. `false` where a statement finds the event otherwise, and nothing was done. */
function isMoved(statements: Statements, row: ActRow, move: ActMove, now: number): boolean {
  const { counts } = statements;
  if (written(statements, row, move, now) === 0) return false;
  if (move.name === 'discard') {
    counts.countType('discarded', row.type);
    return true;
  }
  noteTime(statements, now);
  counts.countType('rerun', move.name === 'toPending' ? move.content.type : row.type);
  // It may have got its entity only now.
  if (move.name === 'toPending') reindex(statements.database, row);
  return true;
}

/** How many rows the move has changed. */
function written({ moves }: Statements, { seq, id, endpoint }: ActRow, move: ActMove, now: number): number {
  if (move.name === 'processedToPending') return moves.processedToPending.run({ seq, now }).changes;
  const { type = null, created = null } = move.content ?? {};
  const content = { type, created_ms: created?.ms ?? null, created_ns: created?.ns ?? null };
  if (move.name === 'discard') return moves.discard.run({ ...content, seq, now }).changes;
  return moves.toPending.run({ ...content, entity: move.content.entity, id, endpoint, now, readFrom: null }).changes;
}

const COLUMNS = `seq, endpoint, id, type, entity, state, dead_reason AS deadReason, body IS NULL AS pruned,
  discarded_ms IS NOT NULL AS discarded, ${BYTES}`;

function* rowsOfKeys(database: SqliteDatabase, keys: readonly EventKey[]): Generator<ActRow | null, void> {
  const find = statement(database, `SELECT ${COLUMNS} FROM hookbox_events WHERE id = ? AND endpoint = ?`);
  for (const { id, endpoint } of keys) yield actRow(find.get(id, endpoint));
}

/** The events of a snapshot, by their `seq`. */
export function* rowsOfSeqs(database: SqliteDatabase, seqs: readonly number[]): Generator<ActRow | null, void> {
  const find = statement(database, `SELECT ${COLUMNS} FROM hookbox_events WHERE seq = ?`);
  for (const seq of seqs) yield actRow(find.get(seq));
}

function actRow(found: unknown): ActRow | null {
  if (found === undefined) return null;
  // The CHECKs of the table hold the unions.
  const row = found as Omit<ActRow, 'pruned' | 'discarded'> & { readonly pruned: 0 | 1; readonly discarded: 0 | 1 };
  return { ...row, pruned: row.pruned === 1, discarded: row.discarded === 1 };
}

function bodyOf(database: SqliteDatabase, { seq }: ActRow): Uint8Array {
  const found = statement(database, 'SELECT body FROM hookbox_events WHERE seq = ?').get(seq);
  return (found as { body: Uint8Array }).body;
}

function refuseTooMany(database: SqliteDatabase, keys: readonly EventKey[]): void {
  if (keys.length > MOST_KEYS) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `${keys.length} events are too many for one act: ${MOST_KEYS} is the most. Use a bulk (previewBulk, then runBulk).`,
    );
  }
  if (keys.length < 2) return;
  let bytes = 0;
  for (const row of rowsOfKeys(database, keys)) bytes += row?.bytes ?? 0;
  if (bytes <= MOST_BYTES) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `The bodies of these ${keys.length} events have ${bytes} bytes together, and ${MOST_BYTES} is the most for one act. ` +
      'Name fewer at a time, or use a bulk (previewBulk, then runBulk).',
  );
}

/** What the audit says an act was about: `{ endpoint, ids }`, or a list of these where there are several endpoints. */
function named(keys: readonly EventKey[]) {
  const byEndpoint = Object.groupBy(keys, ({ endpoint }) => endpoint);
  const groups = Object.entries(byEndpoint).map(([endpoint, of = []]) => ({ endpoint, ids: of.map(({ id }) => id) }));
  const [only] = groups;
  return only !== undefined && groups.length === 1 ? only : { events: groups };
}
