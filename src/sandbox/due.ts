import {
  clearImmediate,
  clearTimeout,
  delay,
  performance,
  setImmediate,
  setTimeout,
  turn,
} from '../host/real-timers.ts';
import { checkedTime, durationMs } from './clock.ts';
import { SandboxClosedError } from './errors.ts';
import type { Reading, Transaction, Store } from './store.ts';

/** Something that happens when its time has come: one row, which is there until it has happened. */
export interface Due {
  readonly id: number;
  /** when, in milliseconds since 1970; late, where the sandbox was away */
  readonly at: number;
  /** what happens */
  readonly kind: string;
  /** to whom */
  readonly subject: string;
  /** What happens in different lanes waits for nothing but its time; of one lane only so much is under way at once. */
  readonly lane: string;
}

/** The lane of what changes the state and waits for nobody. */
export const STEPS = '';

export const DUE_TABLES = `
  CREATE TABLE due (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, lane TEXT NOT NULL,
    UNIQUE (kind, subject)
  ) STRICT;
  CREATE INDEX due_in_order ON due (at, id);
  CREATE INDEX due_in_lane ON due (lane, at, id);
`;

/** Says when something happens to somebody, in place of any time that was said before. */
export function setDue(
  transaction: Transaction,
  kind: string,
  subject: string,
  at: number,
  lane: string = STEPS,
): void {
  const sql = 'INSERT OR REPLACE INTO due (at, kind, subject, lane) VALUES (?, ?, ?, ?)';
  transaction.run(sql, at, kind, subject, lane);
}

/** Has it not happen at all. */
export function clearDue(transaction: Transaction, kind: string, subject: string): void {
  transaction.run('DELETE FROM due WHERE kind = ? AND subject = ?', kind, subject);
}

/** Has nothing happen any more that is due in a lane. */
export function clearLane(transaction: Transaction, lane: string): void {
  transaction.run('DELETE FROM due WHERE lane = ?', lane);
}

/** A coming change in the sandbox. */
export interface NextDue {
  /** On the sandbox's clock. The change happens later if it must wait for work that is still running. */
  readonly at: Date;
  /** The next state of an order, the next event of an idle cart, or the next attempt at a delivery. */
  readonly what: 'order' | 'cart' | 'delivery';
  /** The id of the order, cart or delivery. */
  readonly id: string;
}

/** What happens next, the earliest first. */
export function listDue(db: Reading, most: number): readonly NextDue[] {
  const rows = db.all('SELECT at, kind, subject FROM due ORDER BY at, id LIMIT ?', most) as readonly {
    readonly at: number;
    readonly kind: NextDue['what']; // ORDER_DUE, CART_DUE and TRY: there are no others
    readonly subject: string;
  }[];
  return rows.map(({ at, kind, subject }) => ({ at: new Date(at), what: kind, id: subject }));
}

/** What happens to somebody when its time has come, within one transaction. It is then no longer due. */
export type Step = (transaction: Transaction, due: Due) => void;

/** What takes real time, such as a delivery: it says itself, in a transaction, that it has happened or when it is due again. */
export type Work = (due: Due) => Promise<void>;

/** What is done about each kind of due row. */
export interface DueRunnerOptions {
  readonly steps: Readonly<Record<string, Step>>;
  readonly work: Readonly<Record<string, Work>>;
  /** how much of one lane may be under way on a real clock */
  readonly concurrency: number;
  /** told what a step or work has thrown on a real clock while nobody waited for it */
  readonly onFailure: (failure: unknown) => void;
}

/** Does what is due in the order of its time. */
export interface DueRunner {
  /**
   * Moves the clock, and resolves when everything that falls due on the way has happened, each at its own time. Who
   * moves it meanwhile waits.
   *
   * @param duration - milliseconds, or a text such as `30 min`; 0 runs the work that is due now
   * @throws ConfigurationError `INVALID_OPTION` for what is no duration, or leads beyond the year 9999
   * @throws Error what a step has thrown: the clock stands at its time then, and it is still due
   */
  advance(duration: number | string): Promise<void>;
  /** Stops, and resolves when what was under way has ended or was given a second for it. */
  close(): Promise<void>;
}

/** A clock that was moved, or a machine that woke up, is noticed within this time. */
const LOOK_EVERY_MS = 1_000;
/** How long steps may go on before others have a turn. */
const SLICE_MS = 10;
const CLOSING_MS = 1_000;
/** Something happens, its webhook is tried, and at once tried again; what goes on happening without end is not waited for. */
const MOST_IN_TURN = 4;

/**
 * On a frozen clock one thing happens at a time, in one order, and only while the clock is moved. On a real one
 * everything happens when it is due, and each lane goes on by itself.
 */
export function createDueRunner(store: Store, options: DueRunnerOptions): DueRunner {
  const { clock } = store;
  const isFrozen = clock.kind === 'frozen';
  const underWay = new Map<string, { readonly lane: string; readonly ended: Promise<void> }>();
  let advancing: Promise<unknown> = Promise.resolve();
  let drains = 0;
  let failed: { readonly failure: unknown } | null = null;
  let isClosed = false;
  let pausedUntil = 0;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;

  /** Starts what may start now, for a moment; `true` where there may be more. */
  function startDue(): boolean {
    const until = performance.now() + SLICE_MS;
    while (performance.now() < until) {
      if (isClosed) return false;
      const next = isFrozen ? nextAlone() : nextInLanes();
      for (const due of next) {
        if (failed !== null || performance.now() < pausedUntil) return false;
        start(due);
      }
      if (next.length === 0) return false;
    }
    return true;
  }

  function start(due: Due): void {
    try {
      const { [due.kind]: step } = options.steps;
      if (step === undefined) begin(due);
      else {
        store.write((transaction) => {
          transaction.run('DELETE FROM due WHERE id = ?', due.id);
          step(transaction, due);
        });
      }
    } catch (failure) {
      fail(failure);
    }
  }

  function begin(due: Due): void {
    const { [due.kind]: work } = options.work;
    if (work === undefined) throw new Error(`Unknown kind of due work: ${due.kind}.`);
    const key = keyOf(due);
    const ended = work(due)
      .catch(fail)
      .finally(() => {
        underWay.delete(key);
        if (!isFrozen) lookSoon();
      });
    underWay.set(key, { lane: due.lane, ended });
  }

  function fail(failure: unknown): void {
    if (isClosed) return;
    if (drains > 0) failed ??= { failure };
    else {
      options.onFailure(failure);
      pausedUntil = performance.now() + LOOK_EVERY_MS; // what has failed would fail at once again
    }
  }

  function nextAlone(): readonly Due[] {
    if (underWay.size > 0) return [];
    return store.all('SELECT * FROM due WHERE at <= ? ORDER BY at, id LIMIT 1', clock.now()) as Due[];
  }

  function nextInLanes(): readonly Due[] {
    const inLane = 'SELECT * FROM due WHERE lane = ? AND at <= ? ORDER BY at, id LIMIT ?';
    const next: Due[] = [];
    for (const lane of lanes()) {
      const most = lane === STEPS ? 1 : options.concurrency;
      const busy = underWayIn(lane);
      if (busy >= most) continue;
      const due = store.all(inLane, lane, clock.now(), most) as Due[];
      next.push(...due.filter((one) => !underWay.has(keyOf(one))).slice(0, most - busy));
    }
    return next;
  }

  function lanes(): readonly string[] {
    const after = 'SELECT min(lane) AS lane FROM due WHERE lane > ?';
    const found: string[] = [];
    const first = store.get('SELECT min(lane) AS lane FROM due') as { lane: string | null };
    for (let { lane } = first; lane !== null; { lane } = store.get(after, lane) as { lane: string | null }) {
      found.push(lane);
    }
    return found;
  }

  function underWayIn(lane: string): number {
    let count = 0;
    for (const one of underWay.values()) if (one.lane === lane) count += 1;
    return count;
  }

  /** When the next thing falls due after a time. */
  function nextAfter(time: number): number | null {
    return (store.get('SELECT min(at) AS at FROM due WHERE at > ?', time) as { at: number | null }).at;
  }

  /**
   * Goes on until everything has happened that was due by a time. What is under way is still due, and on a real clock
   * more may come than can be waited for.
   */
  async function drain(by: number): Promise<void> {
    drains += 1;
    pausedUntil = 0;
    try {
      while (store.get('SELECT 1 FROM due WHERE at <= ? LIMIT 1', by) !== undefined) {
        if (startDue()) await turn();
        else if (underWay.size > 0) await Promise.race(Array.from(underWay.values(), ({ ended }) => ended));
        if (isClosed) throw new SandboxClosedError();
        if (failed !== null) throw failed.failure;
      }
    } finally {
      drains -= 1;
      failed = null;
    }
  }

  async function advance(ms: number): Promise<void> {
    if (isClosed) throw new SandboxClosedError();
    const from = clock.now(); // asked once, as a real one goes on
    const until = checkedTime(from + ms);
    let inTurn = 0;
    for (let at: number | null = from; at !== null && at <= until;) {
      clock.moveTo(at);
      await drain(at);
      // A real clock has gone on meanwhile, and what has happened may have made more fall due, such as the next try.
      const now = Math.min(clock.now(), until);
      const isMore: boolean = (nextAfter(at) ?? Infinity) <= now;
      inTurn = isMore ? inTurn + 1 : 0;
      at = isMore && inTurn < MOST_IN_TURN ? now : nextAfter(now);
    }
    clock.moveTo(until);
    store.write(() => {}); // so that a file knows the time
  }

  function lookSoon(): void {
    if (!isClosed) immediate ??= setImmediate(look);
  }

  function look(): void {
    clearImmediate(immediate);
    clearTimeout(timer);
    immediate = undefined;
    let wait = LOOK_EVERY_MS;
    try {
      if (startDue()) lookSoon();
      wait = Math.min((nextAfter(clock.now()) ?? Infinity) - clock.now(), LOOK_EVERY_MS);
    } catch (failure) {
      fail(failure);
    }
    timer = setTimeout(look, wait);
  }

  if (!isFrozen) {
    store.onCommit(lookSoon);
    lookSoon();
  }
  return {
    async advance(duration) {
      const ms = durationMs(duration);
      const mine = advancing.then(() => advance(ms));
      advancing = mine.catch(() => {}); // whoever has asked for it hears of it
      return mine;
    },
    async close() {
      isClosed = true;
      clearImmediate(immediate);
      clearTimeout(timer);
      const late = new AbortController();
      const ended = Promise.all(Array.from(underWay.values(), (one) => one.ended)).then(() => late.abort());
      await Promise.race([ended, delay(CLOSING_MS, undefined, { signal: late.signal }).catch(() => {})]);
    },
  };
}

function keyOf({ kind, subject }: Due): string {
  return `${kind}/${subject}`;
}
