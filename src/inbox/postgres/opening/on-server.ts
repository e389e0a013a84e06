import { isMisread } from '../../../host/postgres-url.ts';
import { connectionsOf } from '../driver/connections.ts';
import { ANSWER_MS } from '../driver/answer-of.ts';
import { Database } from '../driver/database.ts';
import { asUnavailable, type DatabaseFailure } from '../driver/faults.ts';
import { Sessions } from '../driver/sessions.ts';
import type { Session } from '../driver/session.ts';
import { connectionRefusal } from './open.ts';
import { placeOf } from './place.ts';

/**
 * Asks a server for something, where there may be no inbox yet. It may be asked again after a connection was lost.
 *
 * @throws InboxOpenError for who may not even connect, InboxUnavailableError when nobody answers
 */
export async function onServer<T>(url: string, work: (session: Session) => Promise<T>): Promise<T> {
  const nothing = async (): Promise<void> => {};
  const opening = {
    open: nothing,
    // Who asks says where, but not that the URL is read otherwise than it was meant.
    refusalOf: (failure: DatabaseFailure) => connectionRefusal(failure, isMisread(url) ? placeOf(url) : null),
  };
  const sessions = new Sessions(connectionsOf(url), { named: false }, opening, ANSWER_MS);
  const database = new Database(sessions, ANSWER_MS);
  try {
    return await database.alone(work);
  } catch (failure) {
    throw asUnavailable(failure);
  } finally {
    await database.close();
  }
}
