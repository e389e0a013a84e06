import { InboxUnavailableError } from '../../../../errors.ts';
import { PING_LIMIT_MS } from '../../../operator/pinger.ts';
import { BEGIN } from '../../driver/database.ts';
import { lastNumber, sequenceOf, wordsOfTaken } from '../../sql/sequences.ts';
import type { Store } from '../../store.ts';

/** Postgres gives up first, where it is heard of: a table that is locked makes no connection silent. */
const ANSWER_MS = PING_LIMIT_MS + 500;

/**
 * A rollback would leave the disk alone, so the row is committed, and is gone again. The tables that deliveries go to may be
 * locked by others. Should Postgres not be heard of, it gives up by itself, and the connection goes to nobody else.
 */
export async function writeAndTakeBack({ database, t }: Store): Promise<void> {
  const numbers = sequenceOf(t, 'events', 'seq');
  const message = [
    BEGIN,
    `SET LOCAL statement_timeout = ${PING_LIMIT_MS}`,
    `SELECT true AS taken FROM ${t.events} WHERE seq = (SELECT 1 + ${lastNumber(numbers)})`,
    `LOCK TABLE ${t.events}, ${t.queue}, ${t.shelf} IN ROW EXCLUSIVE MODE`,
    `INSERT INTO ${t.counts} (minute_ms, what, detail, count) VALUES (0, 'ping', '', 0)`,
    `DELETE FROM ${t.counts} WHERE minute_ms = 0 AND what = 'ping'`,
    'COMMIT',
  ];
  const [row] = await database.alone((session) => session.inOneMessage(message, ANSWER_MS));
  if (row !== undefined) throw new InboxUnavailableError('FAILED', `Postgres: ${wordsOfTaken(numbers)}`);
}
