import { delay, performance } from '../../host/real-timers.ts';
import { TransactionError } from '../../errors.ts';
import { COMMITTED_BY_ITSELF, processedBy, planProcessed, leaseLost } from '../rules/attempt.ts';
import type { Lease, TransactionAttempt } from '../work.ts';
import type { PostgresConnection } from './driver/connections.ts';
import { IDLE_TIMEOUT, KNOWN_PLANS, SYNCED, VALUES, endOf } from './driver/database.ts';
import { asUnavailable, DatabaseFailure } from './driver/faults.ts';
import { lent } from './driver/lent-connection.ts';
import { rowsOf, type Session } from './driver/session.ts';
import { postgresStore } from './engine/postgres-store.ts';
import type { Store } from './store.ts';

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE';
/** The function may take long and change settings, but the end of the attempt holds locks. */
const BEGIN_END = `${IDLE_TIMEOUT}; ${KNOWN_PLANS}; ${VALUES}; ${SYNCED}; SAVEPOINT hookbox_end`;

/** How often the transaction restarts after a lost connection. */
const MOST_LOST = 2;

const UNSURE_MS = 10_000;
const LOOK_MS = 50;

type Work<T> = (connection: PostgresConnection) => T | Promise<T>;

type Ended<T> =
  | { readonly result: T; readonly isUnused?: boolean }
  | { readonly thrown: unknown }
  | { readonly spoiled: 'COMMITTED_BY_ITSELF' | 'ROLLED_BACK_BY_ITSELF'; readonly cause?: unknown }
  /** COMMIT got no response */
  | { readonly unsure: T; readonly id: string };

/**
 * While the function runs, the transaction holds only a mark of the attempt, so that leases can be renewed and taken
 * over. A function that runs COMMIT itself commits the mark, and the event is then not handled again.
 */
export async function effectTransaction<T>(
  store: Store,
  lease: Lease,
  work: Work<T>,
  attempt: TransactionAttempt,
): Promise<T> {
  let hasBegun = false;
  const begun: Work<T> = (connection) => {
    hasBegun = true;
    return work(connection);
  };
  for (let left = MOST_LOST; ; left -= 1) {
    attempt.signal.throwIfAborted();
    try {
      return await resultOf(store, await runOnce(store, lease, begun, attempt));
    } catch (failure) {
      if (!(failure instanceof DatabaseFailure)) throw failure;
      // A failed attempt, because a function that always loses its connection must not run for ever.
      if (hasBegun) {
        throw new TransactionError('NOT_COMMITTED', `${NOT_COMMITTED} ${failure.message}.`, { cause: failure });
      }
      if (left === 0 || failure.fault === 'refused') throw asUnavailable(failure);
    }
  }
}

async function runOnce<T>(
  store: Store,
  lease: Lease,
  work: Work<T>,
  { now, signal, givenUp, unused, ...attempt }: TransactionAttempt,
): Promise<Ended<T>> {
  let abandoned: Marked | null = null;
  const ended = await store.database.lend<Ended<T>>(async (session, spoil) => {
    await store.writeAt(session, now(), store.time.requested());
    await session.exec(BEGIN);
    const marked = await mark(store, session, lease);
    if (marked === undefined || signal.aborted) {
      await session.exec('ROLLBACK');
      return { thrown: marked === undefined ? leaseLost() : signal.reason };
    }
    let ended = await runInside(store, session, lease, work, marked.id, givenUp);
    if ('stuckOn' in ended) {
      abandoned = marked;
      spoil();
      return { thrown: new TransactionError('GIVEN_UP', `${GIVEN_UP} ${ended.stuckOn}.`) };
    }
    if ('result' in ended) {
      if (await endProcessed(store, session, lease, processedBy(attempt), store.time.toDatabase(now()))) {
        const { isUnused } = ended;
        ended = await commit(session, ended.result, marked.id);
        if (isUnused === true && 'result' in ended) unused?.();
      } else {
        await session.exec('ROLLBACK');
        ended = { thrown: leaseLost() };
      }
    }
    // The state of the connection is unknown.
    if ('spoiled' in ended || 'unsure' in ended) spoil();
    return ended;
  }, signal);
  if (abandoned !== null) void endBackend(store, abandoned);
  return ended;
}

interface Marked {
  readonly id: string;
  readonly pid: number;
}

/** @returns `undefined` if the lease is lost */
function mark({ t }: Store, session: Session, { seq, fence }: Lease): Promise<Marked | undefined> {
  return session.row<Marked>(
    `INSERT INTO ${t.effects} (seq, fence)
     SELECT seq, fence FROM ${t.queue} WHERE seq = $1 AND fence = $2 AND lease_until_ms IS NOT NULL AND NOT processed
     ON CONFLICT DO NOTHING
     RETURNING pg_current_xact_id()::text AS id, pg_backend_pid() AS pid`,
    [seq, fence],
  );
}

/**
 * An unanswered statement keeps its locks in Postgres without its connection. The transaction's id shows that the
 * backend is still working for it: behind a pooler, another client may use that backend now.
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
  } catch {}
}

async function runInside<T>(
  store: Store,
  session: Session,
  lease: Lease,
  work: Work<T>,
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
  if (open === id && 'result' in ended) return loan.isUsed() ? ended : { ...ended, isUnused: true };
  await session.exec('ROLLBACK');
  if (open === id) return ended;
  const cause = 'thrown' in ended ? { cause: ended.thrown } : {};
  const { t } = store;
  const marked = `SELECT 1 FROM ${t.effects} WHERE seq = $1 AND fence = $2`;
  const isMarked = (await session.row(marked, [lease.seq, lease.fence])) !== undefined;
  if (isMarked) return { spoiled: 'COMMITTED_BY_ITSELF', ...cause };
  if (open !== 'failed') return { spoiled: 'ROLLED_BACK_BY_ITSELF', ...cause };
  return 'thrown' in ended ? ended : { thrown: new Error(CAUGHT) };
}

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

/** `failed` if a statement has failed, so that the transaction takes no more statements. */
async function transactionOf(session: Session, lostBy: () => unknown): Promise<string | null> {
  try {
    // Not prepared, because this cannot be repeated.
    const text = 'SELECT pg_current_xact_id_if_assigned()::text AS id';
    const [row] = rowsOf(await session.answered({ text })) as readonly { readonly id: string | null }[]; // its column
    return row?.id ?? null;
  } catch (cause) {
    if (new DatabaseFailure(cause).code === '25P02') return 'failed';
    // The first failure explains the loss of the connection.
    throw new DatabaseFailure(lostBy() ?? cause);
  }
}

/**
 * `false` if the lease is lost. Tries again without prepared statements, because a pooler must not make the function
 * run again.
 */
async function endProcessed(
  { within }: Store,
  session: Session,
  lease: Lease,
  settlement: ReturnType<typeof processedBy>,
  now: number,
): Promise<boolean> {
  const end = async (): Promise<boolean> => {
    const transaction = within(session);
    await transaction.locks.takeOf([lease.seq]);
    const store = postgresStore(transaction);
    const [event] = await store.held([lease], null);
    const changes = planProcessed(event, settlement, now);
    if (changes !== null) await store.apply(changes);
    return changes !== null;
  };
  const [, ended] = await Promise.allSettled([session.exec(BEGIN_END), end()]);
  if (ended.status === 'fulfilled') return ended.value;
  const failure: unknown = ended.reason;
  if (!(failure instanceof DatabaseFailure) || failure.fault !== 'unprepared') throw failure;
  await session.exec('ROLLBACK TO hookbox_end');
  return end();
}

/** The error of a deferred constraint belongs to the application. */
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
  throw new TransactionError(spoiled, spoiled === 'ROLLED_BACK_BY_ITSELF' ? ROLLED_BACK : COMMITTED_BY_ITSELF, options);
}

async function wasCommitted({ database }: Store, id: string): Promise<boolean> {
  for (const until = performance.now() + UNSURE_MS; ; await delay(LOOK_MS)) {
    try {
      return (await database.alone((session) => endOf(session, id))) === 'committed';
    } catch (failure) {
      if (performance.now() > until) throw failure;
    }
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
