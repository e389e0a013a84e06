import { InboxUnavailableError } from '../../errors.ts';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import type { Inbox, Operations } from '../contract.ts';
import type { Acceptance, EventKey, IncomingEvent, StoredEvent } from '../event.ts';
import { runUpkeep } from '../operator/turns.ts';
import { PING_LIMIT_MS } from '../ping.ts';
import type { NumberedStart } from '../rules/claim.ts';
import type { Settled, StartRequest } from '../work.ts';
import { GroupCommit } from '../group-commit.ts';
import { UnconfirmedClaims, UnconfirmedSettlements } from '../unconfirmed-claims.ts';
import { acceptGroup, type Arrival } from './accept-group.ts';
import { claimByKey, claimDue, settleGroup, type SettlementJob } from './claims.ts';
import { dailyLook } from './daily-look.ts';
import type { DatabaseTime } from './database-time.ts';
import { type PostgresConnection, connectionsOf, type PostgresSource } from './driver/connections.ts';
import { Database } from './driver/database.ts';
import { asUnavailable } from './driver/faults.ts';
import { ANSWER_MS, OPERATORS_MS, Sessions } from './driver/session.ts';
import { effectTransaction } from './effect-transaction.ts';
import { movesOf } from './moves.ts';
import { connectionRefusal, openSchema, placeOf } from './opening/open.ts';
import { postgresOperations } from './operator/operations.ts';
import { SEARCH_INDEX } from './operator/search-indexes.ts';
import { selectStored, storedEvent, type StoredRow } from './sql/records.ts';
import { tablesIn } from './sql/tables.ts';
import { LatestTime, storeOf, type Store } from './store.ts';
import { WakeUp } from './wake-up.ts';
import { workQueue } from './work-queue.ts';

export interface InboxSettings {
  readonly schema: string;
  readonly migrates: boolean;
  readonly ephemeral?: boolean;
  readonly prepares: boolean;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  readonly time: DatabaseTime;
  /** with `null`, the inbox neither listens to other machines nor notifies them */
  readonly listenAt: string | null;
  readonly answerMs?: number;
}

const OVERHEAD_BYTES = 512;

/** `close` waits this many times `answerMs` for calls, then `CLOSE_MS` for connections. */
const ANSWERS_AT_CLOSE = 2;
const CLOSE_MS = 5_000;

const UNANSWERED = `deliveries have waited for Postgres for more than ${PING_LIMIT_MS / 1_000} s`;

export function inboxOnPostgres<Connection extends PostgresConnection>(
  source: PostgresSource<Connection>,
  { maxWaiting, maxWaitingBytes, listenAt, ...settings }: InboxSettings,
): Inbox<Connection> {
  const store = storeOn(source, settings);
  const { claims, database } = store;

  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };

  const wakeUp = listenAt === null ? null : new WakeUp(database, listenAt, settings.schema, notify);
  const stored = (): void => {
    notify();
    wakeUp?.tell();
  };

  // One group at a time keeps the order of arrival.
  const arrivals = new GroupCommit<Arrival>((group, _, answer) => acceptGroup(store, group, answer), {
    maxWaiting,
    maxWaitingBytes,
    mostUnderWay: 1,
  });
  const settlements = new GroupCommit<SettlementJob>((jobs) => settleGroup(store, jobs));
  const unconfirmed = new UnconfirmedSettlements();
  const queue = workQueue(store);
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;

  /** `close` waits for the call. */
  async function requested<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw new InboxUnavailableError('CLOSED', 'the inbox is closed');
    const promise = work();
    underWay.add(promise);
    try {
      return await promise;
    } catch (failure) {
      throw asUnavailable(failure);
    } finally {
      underWay.delete(promise);
    }
  }

  const arrivalOf = (event: IncomingEvent, start?: NumberedStart): Arrival => {
    return { event, start, times: store.time.requested(), receivedAt: null, started: undefined, isUnsure: false };
  };

  async function submitted(arrival: Arrival, deadline: number): Promise<Acceptance> {
    const acceptance = await arrivals.submit(arrival, arrival.event.body.byteLength + OVERHEAD_BYTES, deadline);
    return acceptance as Acceptance; // the results of acceptGroup
  }

  function started(event: IncomingEvent, deadline: number, start: StartRequest): Promise<Acceptance> {
    let arrival: Arrival | undefined;
    const ask = (numbered: NumberedStart | undefined) => submitted((arrival = arrivalOf(event, numbered)), deadline);
    return claims.start(start, ask, () => arrival?.started !== undefined);
  }

  async function stop(): Promise<void> {
    isClosed = true;
    const { answerMs = ANSWER_MS } = settings;
    await atMost(ANSWERS_AT_CLOSE * answerMs, Promise.allSettled([arrivals.close(), settlements.close(), ...underWay]));
    await atMost(CLOSE_MS, Promise.all([wakeUp?.close(), database.close()]));
  }

  const patient = storeOf({ ...store, database: database.waiting(OPERATORS_MS) });
  const { prune } = workQueue(patient);
  const look = dailyLook(patient, settings.schema);
  const operators = postgresOperations({ store: patient, ask: requested, notify: stored }, settings.schema);
  const operations: Operations = {
    ...operators,
    async ping() {
      // The ping may use another connection than waiting deliveries.
      if (arrivals.underWayMs > PING_LIMIT_MS) throw new InboxUnavailableError('DEADLINE', UNANSWERED);
      await operators.ping();
    },
  };

  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= stop());

  const settle: Inbox['settle'] = (lease, settlement, now) =>
    unconfirmed.settle(lease, (again) => {
      const job: SettlementJob = { lease, settlement, now, times: store.time.requested(), again };
      return settlements.submitMove(job) as Promise<Settled>; // the results of settleGroup
    });

  return {
    schema: settings.schema,
    transactionsAtOnce: database.mostLent,
    async accept(event, deadline, start) {
      const acceptance = await (start === undefined
        ? submitted(arrivalOf(event), deadline)
        : started(event, deadline, start));
      const isWaiting = acceptance.result === 'stored' && acceptance.started === undefined;
      if (isWaiting || acceptance.replaced) stored();
      return acceptance;
    },
    get: (key) => requested(() => eventOf(store, key)),
    list: ({ after = 0, limit = 100 } = {}) => requested(() => listAfter(patient, after, limit)),
    claim: (request, limit, tell = () => {}, tellFull = () => {}, tellSuperseded = () => {}) =>
      requested(() => claimDue(store, request, limit, tell, tellFull, tellSuperseded)),
    claimOne: (key, request, tell = () => {}) => requested(() => claimByKey(store, key, request, tell)),
    ...asking(queue, requested),
    settle,
    transaction: <T>(
      lease: Parameters<Inbox['transaction']>[0],
      work: (database: Connection) => T,
      attempt: Parameters<Inbox['transaction']>[2],
    ) =>
      // A promise of a promise is the promise itself.
      requested(() => effectTransaction(store, lease, work as (connection: PostgresConnection) => T, attempt)),
    async rerun(key, content, now, readFrom) {
      const moved = await requested(() => queue.rerun(key, content, now, readFrom));
      if (moved) stored();
      return moved;
    },
    prune: (endpoints, processedBefore, limit) => requested(() => prune(endpoints, processedBefore, limit)),
    onPending(listener) {
      wakeUp?.listen();
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    operations,
    async upkeep(how) {
      const deaf = how.report && wakeUp?.problem();
      if (deaf) how.report?.(deaf);
      try {
        await requested(() => look(how));
      } finally {
        // Operators find stored events even if this fails.
        await runUpkeep(operations, how);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function asking<C extends { readonly [Name in keyof C]: (...given: never[]) => Promise<unknown> }>(
  calls: C,
  ask: (work: () => Promise<unknown>) => Promise<unknown>,
): C {
  const requested = Object.entries<(...given: never[]) => Promise<unknown>>(calls).map(([name, call]) => [
    name,
    (...given: never[]) => ask(() => call(...given)),
  ]);
  return Object.fromEntries(requested) as C; // with the same names
}

/** The timer keeps the process alive until all is closed, because idle connections do not. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

type StoreSettings = Pick<InboxSettings, 'schema' | 'migrates' | 'ephemeral' | 'prepares' | 'time' | 'answerMs'>;

export function storeOn(
  source: PostgresSource,
  { schema, migrates, ephemeral = false, prepares, time, answerMs = ANSWER_MS }: StoreSettings,
): Store {
  const t = tablesIn(schema);
  const sessions = new Sessions(
    connectionsOf(source),
    { named: prepares },
    {
      open: (session) => openSchema(session, { schema, tables: t, migrates, ephemeral }),
      refusalOf: (failure) => connectionRefusal(failure, placeOf(source)),
    },
    answerMs,
  );
  const database = new Database(sessions, answerMs, time.clock);
  const known = { latest: new LatestTime(t), claims: new UnconfirmedClaims({ bits: 48 }) };
  return storeOf({ database, t, moves: movesOf(t), time, ...known, index: SEARCH_INDEX });
}

async function eventOf({ time, read }: Store, { id, endpoint }: EventKey): Promise<StoredEvent | null> {
  const row = await read(({ session, t }) =>
    session.row<StoredRow>(selectStored(t, 'events.id = $1 AND events.endpoint = $2'), [id, endpoint]),
  );
  return row === undefined ? null : storedEvent(row, time);
}

/** How long a list waits for deliveries that are being stored. Then it ends before them. */
const WAIT_MS = 5_000;

/** The number up to which no more events can appear (`Horizon`). */
async function listAfter(
  { time, horizon, read }: Store,
  after: number,
  limit: number,
): Promise<readonly StoredEvent[]> {
  const rows = await read(async ({ session, t }) => {
    const text = `${selectStored(t, 'events.seq > $1 AND events.seq <= $2')} ORDER BY events.seq LIMIT $3`;
    const upTo = (end: number) => session.rows<StoredRow>(text, [after, end, limit]);
    const reached = horizon.reached(session);
    const ready = reached > after ? await upTo(reached) : [];
    return ready.length >= limit ? ready : upTo(await horizon.follow(session, WAIT_MS));
  });
  return rows.map((row) => storedEvent(row, time));
}
