import { LATE, startDeadline, withinDeadline } from '../../../../host/deadline.ts';
import { PING_LIMIT_MS } from '../../../operator/pinger.ts';
import { BEGIN } from '../../driver/database.ts';
import { DatabaseFailure } from '../../driver/faults.ts';
import type { Session } from '../../driver/session.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Store } from '../../store.ts';

/**
 * A rollback would leave the disk alone, so the row is committed, and is gone again. The tables that deliveries go to may be
 * locked by others. Should Postgres not be heard of, it gives up by itself, and the connection goes to nobody else.
 */
export async function writeAndTakeBack({ database, t }: Store): Promise<void> {
  await database.alone(async (session) => {
    const deadline = startDeadline(PING_LIMIT_MS);
    try {
      if ((await withinDeadline(written(session, t), deadline)) !== LATE) return;
    } finally {
      deadline.met();
    }
    throw new DatabaseFailure(new Error('Query read timeout'));
  });
}

async function written(session: Session, t: Tables): Promise<void> {
  await session.inOneMessage([
    BEGIN,
    `SET LOCAL statement_timeout = ${PING_LIMIT_MS}`,
    `LOCK TABLE ${t.events}, ${t.queue}, ${t.shelf} IN ROW EXCLUSIVE MODE`,
    `INSERT INTO ${t.counts} (minute_ms, what, detail, count) VALUES (0, 'ping', '', 0)`,
    `DELETE FROM ${t.counts} WHERE minute_ms = 0 AND what = 'ping'`,
    'COMMIT',
  ]);
}
