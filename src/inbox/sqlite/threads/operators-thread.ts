/**
 * The operators' thread runs operators' functions, which read much.
 *
 * @module
 */
import { InboxUnavailableError } from '../../../errors.ts';
import { changeQueue } from '../changes.ts';
import { ownConnection } from '../connection.ts';
import { accessOf } from '../operator/access.ts';
import { sqliteOperations } from '../operator/operations.ts';
import { operatorTables } from '../operator/tables.ts';
import { SEARCH_INDEX } from '../operator/search-words.ts';
import { exportPagesBefore, type NextPage } from '../../operator/export.ts';
import { answerRequests, beginThread, send } from './thread.ts';
import type { OperatorsOperations } from './inbox-threads.ts';
import { LockBorrower } from './write-lock.ts';

const connection = ownConnection(beginThread(), SEARCH_INDEX, { isThere: true });
const lock = new LockBorrower();
const changes = changeQueue(connection, async () => {
  const giveBack = await lock.borrow();
  connection.leaveCheckpoints(lock.hasLender);
  return giveBack;
});
const access = accessOf(connection, changes, () => send({ kind: 'pending' }), lock.borrow);

const exportsUnderWay = new Map<number, NextPage>();
/** Random, so that it differs from the numbers of a thread that died. */
let lastExport = Math.floor(Math.random() * 2 ** 47);
const operations: OperatorsOperations = {
  ...sqliteOperations(access),
  async beginExport(filter, end) {
    lastExport += 1;
    exportsUnderWay.set(
      lastExport,
      exportPagesBefore(operatorTables(access), (...given) => operations.search(...given), filter, end),
    );
    return lastExport;
  },
  async nextPage(id) {
    const next = exportsUnderWay.get(id);
    // The export of a thread that died must not look complete.
    if (next === undefined) throw new InboxUnavailableError('FAILED', 'the export thread died');
    return next();
  },
  async endExport(id) {
    exportsUnderWay.delete(id);
  },
};

answerRequests({
  operations,
  notice(notice) {
    if (notice.kind === 'lock') lock.use(notice.port);
  },
  async close() {
    await changes.close();
    connection.close();
  },
});
send({ kind: 'ready' });
