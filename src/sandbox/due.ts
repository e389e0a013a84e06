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
import type { Reading, Store, Transaction } from './store.ts';

/** A row that exists until the work is done. */
export interface Due {
  readonly id: number;
  /** in milliseconds since 1970; in the past if the sandbox was not running */
  readonly at: number;
  readonly kind: string;
  readonly subject: string;
  /** Lanes do not wait for each other. Each lane has its own limit. */
  readonly lane: string;
}

/** Changes of state, which take no time. */
const STEPS = '';

export const DUE_TABLES = `
  CREATE TABLE due (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, lane TEXT NOT NULL,
    UNIQUE (kind, subject)
  ) STRICT;
  CREATE INDEX due_in_order ON due (at, id);
  CREATE INDEX due_in_lane ON due (lane, at, id);
`;

export function setDue(tx: Transaction, kind: string, subject: string, at: number, lane: string = STEPS): void {
  tx.run('INSERT OR REPLACE INTO due (at, kind, subject, lane) VALUES (?, ?, ?, ?)', at, kind, subject, lane);
}

export function clearDue(tx: Transaction, kind: string, subject: string): void {
  tx.run('DELETE FROM due WHERE kind = ? AND subject = ?', kind, subject);
}

export function clearLane(tx: Transaction, lane: string): void {
  tx.run('DELETE FROM due WHERE lane = ?', lane);
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

export function listDue(db: Reading, most: number): readonly NextDue[] {
  type Row = Pick<Due, 'at' | 'subject'> & { readonly kind: NextDue['what'] };
  const rows = db.all<Row>('SELECT at, kind, subject FROM due ORDER BY at, id LIMIT ?', most);
  return rows.map(({ at, kind, subject }) => ({ at: new Date(at), what: kind, id: subject }));
}

/** One transaction, after which the work is no longer due. */
export type Step = (tx: Transaction, due: Due) => void;

interface DueRunnerOptions {
  readonly steps: Readonly<Record<string, Step>>;
  /** Its own transaction removes the row or sets a new time. */
  readonly work: (due: Due) => Promise<void>;
  /** For one lane on a real clock. */
  readonly concurrency: number;
  readonly onFailure: (failure: unknown) => void;
}

export interface DueRunner {
  /** Calls wait for each other. If a step fails, the clock shows its time, and it is still due. */
  advance(duration: number | string): Promise<void>;
  /** Resolves when the work under way has ended, or after a second. */
  close(): Promise<void>;
}

/** The runner notices within this time that a clock was moved or the machine woke up. */
const LOOK_EVERY_MS = 1_000;
/** The time after which steps yield to other code. */
const SLICE_MS = 10;
const CLOSING_MS = 1_000;
/** A step, its webhook and an immediate retry follow each other. An endless sequence must not block `advance`. */
const MOST_IN_TURN = 4;

/** A frozen clock does one piece of work at a time, only during `advance`. On a real clock, lanes run side by side. */
export function createDueRunner(store: Store, { steps, work, concurrency, onFailure }: DueRunnerOptions): DueRunner {
  const { clock } = store;
  const isFrozen = clock.kind === 'frozen';
  /** By `keyOf`: a row that `setDue` replaces has another id. */
  const underWay = new Map<string, { readonly lane: string; readonly ended: Promise<void> }>();
  let advancing: Promise<unknown> = Promise.resolve();
  let drains = 0;
  let failed: { readonly failure: unknown } | null = null;
  let isClosed = false;
  let pausedUntil = 0;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;

  /** Returns `true` if there may be more. */
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
    const { [due.kind]: step } = steps;
    if (step === undefined) {
      const ended = work(due)
        .catch(fail)
        .finally(() => {
          underWay.delete(keyOf(due));
          if (!isFrozen) lookSoon();
        });
      underWay.set(keyOf(due), { lane: due.lane, ended });
      return;
    }
    try {
      store.write((tx) => {
        tx.run('DELETE FROM due WHERE id = ?', due.id);
        step(tx, due);
      });
    } catch (failure) {
      fail(failure);
    }
  }

  function fail(failure: unknown): void {
    if (isClosed) return;
    if (drains > 0) failed ??= { failure };
    else {
      onFailure(failure);
      pausedUntil = performance.now() + LOOK_EVERY_MS; // the same work would fail again immediately
    }
  }

  function nextAlone(): readonly Due[] {
    if (underWay.size > 0) return [];
    return store.all('SELECT * FROM due WHERE at <= ? ORDER BY at, id LIMIT 1', clock.now());
  }

  function nextInLanes(): readonly Due[] {
    const inLane = 'SELECT * FROM due WHERE lane = ? AND at <= ? ORDER BY at, id LIMIT ?';
    return lanes().flatMap((lane) => {
      const most = lane === STEPS ? 1 : concurrency;
      const busy = Array.from(underWay.values()).filter((one) => one.lane === lane).length;
      if (busy >= most) return [];
      const due = store.all<Due>(inLane, lane, clock.now(), most);
      return due.filter((one) => !underWay.has(keyOf(one))).slice(0, most - busy);
    });
  }

  /** Jumps from lane to lane in the index, which is faster than DISTINCT over all due work. */
  function lanes(): readonly string[] {
    const after = 'SELECT min(lane) AS lane FROM due WHERE lane > ?';
    const found: string[] = [];
    let { lane } = store.get('SELECT min(lane) AS lane FROM due') as { lane: string | null };
    while (lane !== null) {
      found.push(lane);
      ({ lane } = store.get(after, lane) as { lane: string | null });
    }
    return found;
  }

  function nextAfter(time: number): number | null {
    return (store.get('SELECT min(at) AS at FROM due WHERE at > ?', time) as { at: number | null }).at;
  }

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
    const from = clock.now();
    const until = checkedTime(from + ms);
    let inTurn = 0;
    for (let at: number | null = from; at !== null && at <= until;) {
      clock.moveTo(at);
      await drain(at);
      // A real clock has advanced since, and the work may have made more work due.
      const now = Math.min(clock.now(), until);
      const isMore: boolean = (nextAfter(at) ?? Infinity) <= now;
      inTurn = isMore ? inTurn + 1 : 0;
      at = isMore && inTurn < MOST_IN_TURN ? now : nextAfter(now);
    }
    clock.moveTo(until);
    store.write(() => {});
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
      advancing = mine.catch(() => {});
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
