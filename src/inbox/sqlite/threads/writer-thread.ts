/**
 * The thread that writes: everything that moves events, and what receivers and processors keep for operators. The disk may
 * take its time here, and holds up nobody's event loop.
 *
 * @module
 */
import { GroupCommit, type CommitOutcome } from '../../group-commit.ts';
import { commitGroup, type Work, runMove, runRead, type Move } from '../jobs.ts';
import { ownConnection } from '../connection.ts';
import { counts } from '../../operator/counts.ts';
import { marks } from '../../operator/marks.ts';
import { countEngine } from '../operator/counts.ts';
import { indexNew, SEARCH_INDEX } from '../operator/search-words.ts';
import { accessOf, operatorTables } from '../operator/access.ts';
import type { Statements } from '../engine/sqlite-store.ts';
import { answerRequests, beginThread, send } from './thread.ts';
import { LogWatch } from '../opening/checkpoints.ts';
import { packOutcomes, unpackMoves } from './messages.ts';
import type { WriterOperations } from './inbox-threads.ts';
import { LockLender, type GiveBack } from './write-lock.ts';

const connection = ownConnection(beginThread(), SEARCH_INDEX, { isThere: true });
connection.leaveCheckpoints(true);
const lock: LockLender = new LockLender(() => log.look());
const log = new LogWatch(connection, lock, () => send({ kind: 'long-log' }));
/** What is not asked for in groups. */
const own = new GroupCommit<Work>(
  (jobs) =>
    new Promise((resolve) =>
      lock.run(() => {
        resolve(commitGroup(connection, jobs));
        log.look();
      }),
    ),
);
const access = accessOf(connection, own, () => send({ kind: 'pending' }));
const tables = operatorTables(access);
const operations: WriterOperations = {
  ...counts(tables, countEngine(access)),
  ...marks(tables),
  indexNew: (...given) => indexNew(access, ...given),
};
/** To a writer that was started again comes what an earlier one has lent: it knows nothing of that. */
const loans = new Map<number, GiveBack>();

/** A group has found the file busy: one that was sent behind it must not come first, but comes again behind it. */
let wasBusy = false;

function commit(moves: readonly Move[], isAgain: boolean): readonly CommitOutcome[] {
  if (wasBusy && !isAgain) return moves.map(() => 'busy');
  const outcomes = commitGroup(
    connection,
    moves.map((move) => (statements: Statements) => runMove(statements, move)),
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
  read: ({ name, given }) => runRead(connection.statements(), name, given),
  operate({ name, given }) {
    const operation = operations[name as keyof WriterOperations] as (...given: readonly unknown[]) => Promise<unknown>;
    return operation(...given);
  },
  borrow: (id, answer) =>
    lock.lend((giveBack) => {
      loans.set(id, giveBack);
      answer(id);
    }),
  notice(notice) {
    if (notice.kind === 'lock') return lock.serve(notice.port);
    if (notice.kind === 'log-copied') return log.copied(notice.isUseful);
    loans.get(notice.loan)?.();
    loans.delete(notice.loan);
  },
  async close() {
    await own.close();
    await new Promise<void>((resolve) => lock.run(resolve));
    connection.close();
  },
});

try {
  connection.statements();
} catch {
  // It may be there when something is to be written, and whoever asks then hears if it is not.
}
send({ kind: 'ready' });
