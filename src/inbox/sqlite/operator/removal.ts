import { delay } from '../../../host/real-timers.ts';
import type { PrunableState } from '../../event.ts';
import type { ErasingEngine } from '../../operator/erasing.ts';
import type { PruningEngine } from '../../operator/pruning.ts';
import type { LookedAt, PruneCriteria, PrunePosition } from '../../rules/pruning.ts';
import { withoutWaiting } from '../connection.ts';
import { type SqliteDatabase, isBusy } from '../opening/database.ts';
import { PRUNABLE, PRUNABLE_ENDPOINTS, PUT_AWAY } from '../sql/named-statements.ts';
import { statement } from '../sql/statement.ts';
import type { Access } from './access.ts';

export function erasingEngine(access: Access): ErasingEngine {
  return { notesInOrder: true, emptyLog: () => emptyLog(access) };
}

export function pruningEngine({ database }: Access): PruningEngine {
  return {
    hasIndex: (state) => state === 'processed',
    lookAt: async (_, ...given) => lookAt(database(), ...given),
    worksLighter: 1,
    holdsLighter: 1,
  };
}

function lookAt(
  database: SqliteDatabase,
  { settledBefore, endpoint }: PruneCriteria,
  { state, settledMs, seq }: PrunePosition,
  looked: number,
): readonly LookedAt[] {
  const before = settledBefore.getTime();
  const behind = { settledMs, seq, looked };
  if (state !== 'processed') return statement<LookedAt>(database, ofState(state)).all({ ...behind, before });
  let rows: LookedAt[] = [];
  for (const named of endpoint === undefined ? prunableEndpoints(database) : [endpoint]) {
    // Only earlier rows count now.
    const until = rows.length < looked ? before : (rows.at(-1)?.settledMs ?? 0) + 1;
    const more = statement<LookedAt>(database, PROCESSED).all({ ...behind, endpoint: named, before: until });
    rows = [...rows, ...more].toSorted((a, b) => a.settledMs - b.settledMs || a.seq - b.seq).slice(0, looked);
  }
  return rows;
}

function prunableEndpoints(database: SqliteDatabase): readonly string[] {
  const sql = `WITH RECURSIVE ${PRUNABLE_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL`;
  return statement<{ value: string }>(database, sql)
    .all()
    .map(({ value }) => value);
}

const BEHIND = `
  AND settled_ms < :before AND (settled_ms, seq) > (:settledMs, :seq) ORDER BY settled_ms, seq LIMIT +:looked`;
const LOOK = 'SELECT seq, settled_ms AS settledMs, type, endpoint FROM hookbox_events';
const PROCESSED = `${LOOK} WHERE ${PRUNABLE} AND endpoint = +:endpoint ${BEHIND}`;

function ofState(state: PrunableState): string {
  return `${LOOK} INDEXED BY hookbox_events_put_away_at WHERE ${PUT_AWAY} AND state = '${state}' AND body IS NOT NULL ${BEHIND}`;
}

/** SQLite overwrites the bytes that `work` deletes. */
function securely<T>(database: SqliteDatabase, work: () => T): T {
  const before = Number(database.pragma('secure_delete', { simple: true }));
  database.pragma('secure_delete = ON');
  try {
    return work();
  } finally {
    database.pragma(`secure_delete = ${before === 2 ? 'FAST' : before}`);
  }
}

export function secureAccess(access: Access): Access {
  return {
    ...access,
    write: (work) =>
      access.write((statements, waitedMs) => securely(statements.database, () => work(statements, waitedMs))),
  };
}

const TRIES = 10;
const BETWEEN_TRIES_MS = 50;

/** The log has older versions of pages. `false` if others used the log all the time. */
async function emptyLog(access: Access): Promise<boolean> {
  for (let tried = 1; ; tried += 1) {
    if (await access.alone(checkpointed)) return true;
    if (tried === TRIES) return false;
    await delay(BETWEEN_TRIES_MS);
  }
}

function checkpointed(database: SqliteDatabase): boolean {
  try {
    const busy = withoutWaiting(database, () => database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }));
    return Number(busy) === 0; // the application's connection may return a bigint
  } catch (failure) {
    // The application is in its own transaction, or reads rows one by one.
    if (isBusy(failure) || failure instanceof TypeError) return false;
    throw failure;
  }
}
