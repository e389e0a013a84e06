import { delay, performance } from '../../host/real-timers.ts';
import { isInstance, TransactionError } from '../../errors.ts';
import { COMMITTED_BY_ITSELF, processedBy, planProcessed } from '../rules/attempt.ts';
import type { Lease, TransactionAttempt } from '../work.ts';
import type { PostgresConnection } from './driver/client.ts';
import { IDLE_TIMEOUT, KNOWN_PLANS, SYNCED, VALUES, transactionStatus } from './driver/database.ts';
import { asUnavailable, DatabaseFailure } from './driver/faults.ts';
import { lent } from './driver/lent-connection.ts';
import { rowsOf, type Session } from './driver/session.ts';
import { postgresStore } from './engine/postgres-store.ts';
import type { Store } from './store.ts';

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE';
/** The function takes as long as it takes and sets what it likes, but from here on locks are held that others wait for. */
const BEGIN_END = `${IDLE_TIMEOUT}; ${KNOWN_PLANS}; ${VALUES}; ${SYNCED}; SAVEPOINT hookbox_end`;

/** So often it is begun anew. */
const MOST_LOST = 2;

/** For so long a transaction whose COMMIT was not answered is waited for. */
const UNSURE_MS = 10_000;
const LOOK_MS = 50;

/** How such a transaction ended, as far as its own connection has told. */
type Ended<T> =
  | { readonly result: T }
  | { readonly thrown: unknown }
  | { readonly spoiled: 'COMMITTED_BY_ITSELF' | 'ROLLED_BACK_BY_ITSELF'; readonly cause?: unknown }
  /** COMMIT was sent and not answered */
  | { readonly unsure: T; readonly id: string };

/**
 * The application's writes and the end of the attempt, in one transaction. While the function runs, a marker of the
 * attempt is all that it holds, so that renewals and takeovers pass; a function that commits by itself commits the
 * marker, which then says that the effect must not be repeated, whoever ends the attempt.
 */
export async function effectTransaction<T>(
  store: Store,
  lease: Lease,
  work: (connection: PostgresConnection) => T | Promise<T>,
  attempt: TransactionAttempt,
): Promise<T> {
  let hasBegun = false;
  const begun = (connection: PostgresConnection): T | Promise<T> => {
    hasBegun = true;
    return work(connection);
  };
  try {
    return await resultOf(store, await run(store, lease, begun, attempt, () => hasBegun));
  } catch (failure) {
    if (!hasBegun || !isInstance(failure, DatabaseFailure)) throw asUnavailable(failure);
    // Otherwise an event whose function always loses its connection would be run for ever.
    throw new TransactionError('NOT_COMMITTED', `${NOT_COMMITTED} ${failure.message}.`, { cause: failure });
  }
}

/** Until the function has begun, a connection that was lost is no reason to fail. */
async function run<T>(
  store: Store,
  lease: Lease,
  work: (connection: PostgresConnection) => T | Promise<T>,
  attempt: TransactionAttempt,
  hasBegun: () => boolean,
): Promise<Ended<T>> {
  for (let left = MOST_LOST; ; left -= 1) {
    attempt.signal.throwIfAborted();
    try {
      return await runOnce(store, lease, work, attempt);
    } catch (failure) {
      const isOver = hasBegun() || left === 0 || !isInstance(failure, DatabaseFailure);
      if (isOver || failure.fault === 'refused') throw failure;
    }
  }
}

async function runOnce<T>(
  store: Store,
  lease: Lease,
  work: (connection: PostgresConnection) => T | Promise<T>,
  { now, signal, skipped, givenUp }: TransactionAttempt,
): Promise<Ended<T>> {
  let abandoned: Marked | null = null;
  const ended = await store.database.lend<Ended<T>>(async (session, spoil) => {
    await store.writeAt(session, now(), store.time.asked());
    await session.exec(BEGIN);
    const marked = await mark(store, session, lease);
    if (marked === null || signal.aborted) {
      await session.exec('ROLLBACK');
      return { thrown: marked === null ? lost() : signal.reason };
    }
    let ended = await runInside(store, session, lease, work, marked.id, givenUp);
    if ('stuckOn' in ended) {
      abandoned = marked;
      spoil();
      return { thrown: new TransactionError('GIVEN_UP', `${GIVEN_UP} ${ended.stuckOn}.`) };
    }
    if ('result' in ended) {
      if (await endProcessed(store, session, lease, processedBy(skipped), store.time.toDatabase(now()))) {
        ended = await commit(session, ended.result, marked.id);
      } else {
        await session.exec('ROLLBACK');
        ended = { thrown: lost() };
      }
    }
    // What the function left on it, or what became of it, nobody knows.
    if ('spoiled' in ended || 'unsure' in ended) spoil();
    return ended;
  }, signal);
  if (abandoned !== null) void endBackend(store, abandoned);
  return ended;
}

function lost(): TransactionError {
  return new TransactionError('LEASE_LOST', 'The attempt lost its lease on this event. Nothing was committed.');
}

/** A transaction that is marked as that of an attempt, and the process of the server that it runs in. */
interface Marked {
  readonly id: string;
  readonly pid: number;
}

/** @returns `null` when the lease is lost */
async function mark({ t }: Store, session: Session, { seq, fence }: Lease): Promise<Marked | null> {
  const marked = await session.row<Marked>(
    `INSERT INTO ${t.effects} (seq, fence)
     SELECT seq, fence FROM ${t.queue} WHERE seq = $1 AND fence = $2 AND lease_until_ms IS NOT NULL AND NOT processed
     ON CONFLICT DO NOTHING
     RETURNING pg_current_xact_id()::text AS id, pg_backend_pid() AS pid`,
    [seq, fence],
  );
  return marked ?? null;
}

/**
 * An unanswered statement continues in Postgres without its connection, and holds the locks that the next attempt
 * needs. The transaction's id shows that the backend still works for it: behind a pooler, another client may use that
 * backend by now.
 */
async function endBackend({ database }: Store, { id, pid }: Marked): Promise<void> {
  try {
    await database.alone((session) =>
      session.rows(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE pid = $1 AND backend_xid::text = ($2::xid8)::xid::text`,
        [pid, id],
      ),
    );
  } catch {
    // It may have ended by itself.
  }
}

/** The id of the transaction tells whether it is still the one that was begun, even if the function began another one. */
async function runInside<T>(
  store: Store,
  session: Session,
  lease: Lease,
  work: (connection: PostgresConnection) => T | Promise<T>,
  id: string,
  givenUp: TransactionAttempt['givenUp'],
): Promise<Ended<T> | { readonly stuckOn: string }> {
  const loan = lent(session.connection);
  const over = await untilGivenUp(() => work(loan.connection), givenUp);
  if (over === 'given up') {
    const stuckOn = loan.isAsking() ? ON_STATEMENT : store.database.isWaitedFor() ? ON_POOL : ON_SOMETHING;
    loan.takeBack();
    return { stuckOn };
  }
  loan.takeBack('thrown' in over ? over.thrown : undefined);
  const refusal = 'result' in over ? loan.refusal() : null;
  const ended = refusal === null ? over : { thrown: refusal };
  const open = await transactionOf(session, loan.lostBy);
  if (open === id && 'result' in ended) return ended;
  await session.exec('ROLLBACK');
  if (open === id) return ended;
  const cause = 'thrown' in ended ? { cause: ended.thrown } : {};
  if (await isMarked(store, session, lease)) return { spoiled: 'COMMITTED_BY_ITSELF', ...cause };
  if (open !== 'failed') return { spoiled: 'ROLLED_BACK_BY_ITSELF', ...cause };
  return 'thrown' in ended ? ended : { thrown: new Error(CAUGHT) };
}

/** How the function ended, unless its attempt is given up before. */
async function untilGivenUp<T>(
  work: () => T | Promise<T>,
  givenUp: AbortSignal | undefined,
): Promise<{ readonly result: T } | { readonly thrown: unknown } | 'given up'> {
  const { promise, resolve } = Promise.withResolvers<'given up'>();
  const giveUp = (): void => resolve('given up');
  givenUp?.addEventListener('abort', giveUp);
  const run = async () => {
    try {
      return { result: await work() };
    } catch (thrown) {
      return { thrown };
    }
  };
  const over = await Promise.race([run(), promise]);
  givenUp?.removeEventListener('abort', giveUp);
  return over;
}

/** `failed` where a statement has failed, so that nothing can be asked of the transaction any more. */
async function transactionOf(session: Session, lostBy: () => unknown): Promise<string | null> {
  try {
    // Without a name: here nobody could ask again.
    const text = 'SELECT pg_current_xact_id_if_assigned()::text AS id';
    const [row] = rowsOf(await session.answered({ text })) as readonly { readonly id: string | null }[]; // its column
    return row?.id ?? null;
  } catch (cause) {
    const failure = new DatabaseFailure(cause);
    if (failure.code === '25P02') return 'failed';
    // A statement that comes too late is only told that there is no connection.
    throw new DatabaseFailure(lostBy() ?? cause);
  }
}

async function isMarked({ t }: Store, session: Session, { seq, fence }: Lease): Promise<boolean> {
  return (await session.row(`SELECT 1 FROM ${t.effects} WHERE seq = $1 AND fence = $2`, [seq, fence])) !== undefined;
}

/** The function cannot be run again only because a pooler is found out now to keep no prepared statements. */
async function endProcessed(
  store: Store,
  session: Session,
  lease: Lease,
  settlement: ReturnType<typeof processedBy>,
  now: number,
): Promise<boolean> {
  const end = (): Promise<boolean> => endAttempt(store, session, lease, settlement, now);
  const [, ended] = await Promise.allSettled([session.exec(BEGIN_END), end()]);
  if (ended.status === 'fulfilled') return ended.value;
  const failure: unknown = ended.reason;
  if (!isInstance(failure, DatabaseFailure) || failure.fault !== 'unprepared') throw failure;
  await session.exec('ROLLBACK TO hookbox_end');
  return end();
}

/** Without the marker, which goes with it; `false` when the lease is lost. */
async function endAttempt(
  { within }: Store,
  session: Session,
  lease: Lease,
  settlement: ReturnType<typeof processedBy>,
  now: number,
): Promise<boolean> {
  const transaction = within(session);
  await transaction.locks.takeOf([lease.seq]);
  const store = postgresStore(transaction);
  const [event] = await store.held([lease], null);
  const changes = planProcessed(event, settlement, now);
  if (changes !== null) await store.apply(changes);
  return changes !== null;
}

/** What a constraint that is deferred says is thrown as it is: it is the application's own. */
async function commit<T>(session: Session, result: T, id: string): Promise<Ended<T>> {
  try {
    const { command } = await session.answered({ text: 'COMMIT' });
    return command === 'COMMIT' ? { result } : { thrown: new Error(CAUGHT) };
  } catch (failure) {
    return new DatabaseFailure(failure).fault === 'lost' ? { unsure: result, id } : { thrown: failure };
  }
}

async function resultOf<T>(store: Store, ended: Ended<T>): Promise<T> {
  if ('result' in ended) return ended.result;
  if ('thrown' in ended) throw ended.thrown;
  if ('unsure' in ended) {
    if (await wasCommitted(store, ended.id)) return ended.unsure;
    throw new DatabaseFailure(new Error('Connection terminated'));
  }
  const { spoiled, ...options } = ended;
  if (spoiled === 'ROLLED_BACK_BY_ITSELF') throw new TransactionError(spoiled, ROLLED_BACK, options);
  // The end of the attempt finds the marker.
  throw new TransactionError(spoiled, COMMITTED_BY_ITSELF, options);
}

/** Its server process may still be at it. */
async function wasCommitted({ database }: Store, id: string): Promise<boolean> {
  for (const until = performance.now() + UNSURE_MS; ;) {
    try {
      const status = await database.alone((session) => transactionStatus(session, id));
      if (status !== 'in progress') return status === 'committed';
    } catch (failure) {
      if (performance.now() > until) throw failure;
    }
    if (performance.now() > until) return false;
    await delay(LOOK_MS);
  }
}

const CAUGHT =
  'A statement in ctx.transaction failed, which aborts the Postgres transaction, but your function caught the ' +
  'error. Nothing was committed. Let the error propagate, or wrap the statement in a SAVEPOINT.';

const GIVEN_UP =
  'The function in ctx.transaction was still running when its attempt ended. Its connection was closed, and nothing ' +
  'was committed. The function was probably waiting for';
const ON_STATEMENT = 'a statement that Postgres has not finished, such as one that is waiting for a lock';
const ON_POOL = 'a connection from the same exhausted pool: use the client passed to the function';
const ON_SOMETHING = 'a call outside Postgres: give the call a timeout, or await it before ctx.transaction';

const NOT_COMMITTED = 'The transaction of ctx.transaction was not committed.';

const ROLLED_BACK =
  'The function in ctx.transaction ran ROLLBACK itself. Its later writes were committed, but the event was not ' +
  'marked as processed, so the event is dead and is not retried. Leave COMMIT and ROLLBACK to hookbox; to roll ' +
  'back, throw an error.';
