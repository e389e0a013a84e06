import { connectionsOf } from '../driver/connections.ts';
import { Database } from '../driver/database.ts';
import { asUnavailable, type DatabaseFailure } from '../driver/faults.ts';
import type { Session } from '../driver/session.ts';
import { connectionRefusal } from './open.ts';

/**
 * Asks a server for something, where there may be no inbox yet. It may be asked again after a connection was lost.
 *
 * @throws InboxOpenError for who may not even connect, InboxUnavailableError when nobody answers
 */
export async function onServer<T>(url: string, work: (session: Session) => Promise<T>): Promise<T> {
  const nothing = async (): Promise<void> => {};
  // Who asks says where.
  const refusalOf = (failure: DatabaseFailure): Error => connectionRefusal(failure, null);
  const database = new Database(connectionsOf(url), { named: false }, { open: nothing, refusalOf });
  try {
    return await database.alone(work);
  } catch (failure) {
    throw asUnavailable(failure);
  } finally {
    await database.close();
  }
}
