import { ConfigurationError } from '../../../../errors.ts';
import type { EventKey } from '../../../event.ts';
import type { ActReport, Acts } from '../../../operator/acts.ts';
import { Sums } from '../../../operator/sums.ts';
import { actOnEvents, type ActEngine, type ActedRow } from '../../../rules/act-on-events.ts';
import { askedByKey } from '../../../rules/operator-acts.ts';
import { answer, atOnce, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../database.ts';
import { BYTES } from '../../moves.ts';
import { statement } from '../../prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { addAuditLine } from '../audit/audit-line.ts';
import { atCommit, authorOf } from '../audit/author.ts';

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
        const outcomes = atOnce(actOnEvents(actEngine(statements), keys, acting));
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

/** What an act asks for, on the tables of a file. */
export function actEngine({ engine, database, moves }: Statements): ActEngine {
  return {
    ...engine,
    acted: (event) => answer(typeof event === 'number' ? rowOfSeq(database, event) : rowOfKey(database, event)),
    processedToPending(seq, now) {
      moves.processedToPending.run({ seq, now });
      return DONE;
    },
    discard(seq, content, now) {
      const { type = null, created = null } = content ?? {};
      moves.discard.run({ seq, now, type, created_ms: created?.ms ?? null, created_ns: created?.ns ?? null });
      return DONE;
    },
  };
}

const COLUMNS = `seq, endpoint, id, type, entity, state, dead_reason AS deadReason, body IS NULL AS pruned,
  discarded_ms IS NOT NULL AS discarded, erased_ms IS NOT NULL AS erased, ${BYTES}`;

function rowOfKey(database: SqliteDatabase, { id, endpoint }: EventKey): ActedRow | null {
  const sql = `SELECT ${COLUMNS} FROM hookbox_events WHERE id = ? AND endpoint = ?`;
  return actedRow(statement(database, sql).get(id, endpoint));
}

/** An event by its `seq`. */
export function rowOfSeq(database: SqliteDatabase, seq: number): ActedRow | null {
  return actedRow(statement(database, `SELECT ${COLUMNS} FROM hookbox_events WHERE seq = ?`).get(seq));
}

type Flag = 'pruned' | 'discarded' | 'erased';

function actedRow(found: unknown): ActedRow | null {
  if (found === undefined) return null;
  // The CHECKs of the table hold the unions.
  const row = found as Omit<ActedRow, Flag> & Readonly<Record<Flag, 0 | 1>>;
  return { ...row, pruned: row.pruned === 1, discarded: row.discarded === 1, erased: row.erased === 1 };
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
  for (const key of keys) bytes += rowOfKey(database, key)?.bytes ?? 0;
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
