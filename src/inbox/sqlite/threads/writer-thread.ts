/**
 * The writer thread makes the commits, so a slow disk does not block the event loop.
 *
 * @module
 */
import type { CommitOutcome } from '../../group-commit.ts';
import { changeQueue } from '../changes.ts';
import { commitGroup, runRead, type ReadName } from '../jobs.ts';
import { runMove, type Move } from '../../queue-moves.ts';
import { ownConnection } from '../connection.ts';
import { counts } from '../../operator/counts.ts';
import { marks } from '../../operator/marks.ts';
import { countEngine } from '../operator/counts.ts';
import { indexNew, SEARCH_INDEX } from '../operator/search-words.ts';
import { accessOf } from '../operator/access.ts';
import { operatorTables } from '../operator/tables.ts';
import type { Statements } from '../engine/sqlite-store.ts';
import { answerRequests, beginThread, send } from './thread.ts';
import { LogWatch } from '../opening/checkpoints.ts';
import { packOutcomes, unpackMoves } from './messages.ts';
import type { WriterOperations } from './inbox-threads.ts';
import { LockLender, type GiveBack } from './write-lock.ts';

const connection = ownConnection(beginThread(), SEARCH_INDEX, { isThere: true });
connection.leaveCheckpoints(true);
const lock: LockLender = new LockLender(() => log.look());
const log = new LogWatch(
  () => connection.statements().database,
  lock,
  () => send({ kind: 'long-log' }),
);
const changes = changeQueue(connection, () => new Promise((resolve) => lock.lend(resolve)));
const access = accessOf(connection, changes, () => send({ kind: 'pending' }));
const tables = operatorTables(access);
const forOperators: WriterOperations = {
  ...counts(tables, countEngine(access)),
  ...marks(tables),
  indexNew: (...given) => indexNew(access, ...given),
};
/** A restarted writer may get back a loan of its predecessor; it ignores it. */
const loans = new Map<number, GiveBack>();

/** A group found the file busy, so later groups must stay behind it. */
let wasBusy = false;

function commit(moves: readonly Move[], isAgain: boolean): readonly CommitOutcome[] {
  if (wasBusy && !isAgain) return moves.map(() => 'busy');
  const outcomes = commitGroup(
    connection,
    moves.map(
      (move) =>
        ({ store }: Statements) =>
          runMove(store, move),
    ),
  );
  wasBusy = outcomes.includes('busy');
  return outcomes;
}

answerRequests({
  commit: ({ isAgain, ...packed }, answer) =>
    lock.run(() => {
      const moves = unpackMoves(packed);
      answer(packOutcomes(moves, commit(moves, isAgain)));
      log.look();
    }),
  operations: {
    ...forOperators,
    read: (name: ReadName, given: readonly unknown[]) => runRead(connection.statements(), name, given),
    borrow: (loan: number) =>
      new Promise<void>((resolve) =>
        lock.lend((giveBack) => {
          loans.set(loan, giveBack);
          resolve();
        }),
      ),
  },
  notice(notice) {
    if (notice.kind === 'lock') return lock.serve(notice.port);
    if (notice.kind === 'log-copied') return log.copied(notice.isUseful);
    loans.get(notice.loan)?.();
    loans.delete(notice.loan);
  },
  async close() {
    await changes.close();
    await new Promise<void>((resolve) => lock.run(resolve));
    connection.close();
  },
});

try {
  connection.statements();
} catch {
  // The first request reports it.
}
send({ kind: 'ready' });
