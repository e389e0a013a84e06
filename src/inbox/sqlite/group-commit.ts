import { InboxOpenError, InboxUnavailableError, messageOf } from '../../errors.ts';
import { isBusy, isRowFault } from './database.ts';

/** A piece of work that becomes durable together with others. */
interface Job<Store> {
  run(store: Store): unknown;
  readonly bytes: number;
  readonly deadline: number;
  resolve(result: unknown): void;
  reject(failure: InboxUnavailableError): void;
}

/** What a group commit needs of its connection. */
export interface Transactions<Store> {
  /** Takes the write lock without waiting; throws busy when somebody else has it. */
  begin(): Store;
  /** Returns when everything since `begin` is on disk. */
  commit(): void;
  /** Runs work that, if it throws, leaves what came before it in this transaction as it was. */
  apart<T>(work: () => T): T;
  /** Undoes everything since `begin`, also where SQLite has done so already. */
  rollback(): void;
  /** Told of a failure that is not one row's, so that the next `begin` may start afresh. */
  failed(failure: unknown): void;
}

export interface QueueLimits {
  /** how many deliveries may wait */
  readonly maxWaiting: number;
  /** how many bytes of bodies may wait */
  readonly maxWaitingBytes: number;
}

/** One commit blocks the event loop, so it must not grow with the queue. */
const MAX_GROUP = 512;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
const BUSY_RETRY_MS = 25;
const CLOSE_LIMIT_MS = 10_000;

/**
 * Makes durable fast: everything that arrives in one turn of the event loop shares one transaction and one sync of the
 * disk, and is answered after it. A failing row takes only itself down; a lock held elsewhere is waited for without
 * blocking; what is not begun by its deadline leaves the queue.
 */
export class GroupCommit<Store> {
  readonly #transactions: Transactions<Store>;
  readonly #limits: QueueLimits;
  #waiting: Job<Store>[] = [];
  #waitingBytes = 0;
  #scheduled = false;
  #busyTurns = 0;
  #closed = false;
  /** moves have no deadline, but a locked database must not keep `close` waiting for ever */
  #giveUpAt = Infinity;
  #drained: (() => void) | undefined;

  constructor(transactions: Transactions<Store>, limits: QueueLimits) {
    this.#transactions = transactions;
    this.#limits = limits;
  }

  /**
   * Runs `work` inside the next transaction and resolves with its result when that is on disk.
   *
   * @param work - synchronous; it may run again after a rollback
   * @param bytes - what the work holds in memory while it waits
   * @param deadline - on the clock of `performance.now()`
   * @throws InboxUnavailableError
   */
  submit<T>(work: (store: Store) => T, bytes: number, deadline: number): Promise<T> {
    const full = this.#waiting.length >= this.#limits.maxWaiting;
    const heavy = this.#waitingBytes > 0 && this.#waitingBytes + bytes > this.#limits.maxWaitingBytes;
    if (!this.#closed && (full || heavy)) {
      const message = `${this.#waiting.length} deliveries are waiting already`;
      return Promise.reject(new InboxUnavailableError('OVERLOADED', message));
    }
    return this.#enqueue(work, bytes, deadline);
  }

  /**
   * As `submit`, for the moves of events that are in the inbox already: they are bounded by the number of handlers, and an
   * attempt that ended must be written however many deliveries wait.
   */
  submitMove<T>(work: (store: Store) => T): Promise<T> {
    return this.#enqueue(work, 0, Infinity);
  }

  #enqueue<T>(run: (store: Store) => T, bytes: number, deadline: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(new InboxUnavailableError('CLOSED', 'the inbox is closed'));
      // The result is handed on as it came from `run`, whose type the job forgets.
      this.#waiting.push({ run, bytes, deadline, resolve, reject });
      this.#waitingBytes += bytes;
      this.#schedule();
    });
  }

  /** Takes nothing more and resolves when everything that waits is settled. */
  close(): Promise<void> {
    this.#closed = true;
    this.#giveUpAt = Math.min(this.#giveUpAt, performance.now() + CLOSE_LIMIT_MS);
    return new Promise((resolve) => {
      if (this.#waiting.length === 0) return resolve();
      const before = this.#drained;
      this.#drained = () => {
        before?.();
        resolve();
      };
    });
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // setImmediate runs after all sockets of this turn were read: that is what forms the group.
    if (delayMs === 0) setImmediate(this.#flush);
    else setTimeout(this.#flush, delayMs);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    this.#giveUpLate();
    const group = this.#takeGroup();
    if (group.length > 0) {
      const done = this.#commit(group);
      if (!done) {
        this.#putBack(group);
        this.#busyTurns += 1;
        return this.#schedule(Math.ceil(Math.random() * Math.min(2 ** this.#busyTurns, BUSY_RETRY_MS)));
      }
      this.#busyTurns = 0;
    }
    if (this.#waiting.length > 0) this.#schedule();
    else this.#drained?.();
  };

  /** Settles the whole group, or returns `false` because somebody else has the lock. */
  #commit(group: readonly Job<Store>[]): boolean {
    try {
      this.#runTogether(group);
      return true;
    } catch (failure) {
      if (isBusy(failure)) return false;
      if (failure instanceof InboxOpenError || failure instanceof InboxUnavailableError) {
        // The file itself cannot be had, so no row need try alone.
        this.#transactions.failed(failure);
        for (const job of group) job.reject(failed(failure));
        return true;
      }
    }
    // One row, most likely: each is tried apart from the others, in one transaction still.
    try {
      this.#runApart(group);
      return true;
    } catch (failure) {
      if (isBusy(failure)) return false;
    }
    // Or a file that is full: alone, a small row may still find room.
    for (let at = 0; at < group.length; at += 1) {
      const job = group[at];
      if (job === undefined) break;
      try {
        this.#runTogether([job]);
      } catch (failure) {
        if (isBusy(failure)) {
          this.#putBack(group.slice(at));
          return true;
        }
        if (isRowFault(failure)) {
          job.reject(failed(failure));
          continue;
        }
        this.#transactions.failed(failure);
        for (const rest of group.slice(at)) rest.reject(failed(failure));
        return true;
      }
    }
    return true;
  }

  #runTogether(jobs: readonly Job<Store>[]): void {
    const store = this.#transactions.begin();
    const results: unknown[] = [];
    try {
      for (const job of jobs) results.push(job.run(store));
      this.#transactions.commit();
    } catch (failure) {
      this.#transactions.rollback();
      throw failure;
    }
    // Only now: nobody hears of a commit that has not happened.
    jobs.forEach((job, index) => job.resolve(results[index]));
  }

  #runApart(jobs: readonly Job<Store>[]): void {
    const store = this.#transactions.begin();
    const settle: (() => void)[] = [];
    try {
      for (const job of jobs) {
        try {
          const result = this.#transactions.apart(() => job.run(store));
          settle.push(() => job.resolve(result));
        } catch (failure) {
          if (!isRowFault(failure)) throw failure;
          settle.push(() => job.reject(failed(failure)));
        }
      }
      this.#transactions.commit();
    } catch (failure) {
      this.#transactions.rollback();
      throw failure;
    }
    for (const tell of settle) tell();
  }

  #takeGroup(): Job<Store>[] {
    let bytes = 0;
    let count = 0;
    for (const job of this.#waiting) {
      if (count === MAX_GROUP || (count > 0 && bytes + job.bytes > MAX_GROUP_BYTES)) break;
      bytes += job.bytes;
      count += 1;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  #putBack(group: readonly Job<Store>[]): void {
    this.#waiting = [...group, ...this.#waiting];
    for (const job of group) this.#waitingBytes += job.bytes;
  }

  #giveUpLate(): void {
    const now = performance.now();
    const isLate = ({ deadline }: Job<Store>): boolean => Math.min(deadline, this.#giveUpAt) < now;
    if (!this.#waiting.some(isLate)) return;
    const inTime: Job<Store>[] = [];
    for (const job of this.#waiting) {
      if (!isLate(job)) {
        inTime.push(job);
        continue;
      }
      this.#waitingBytes -= job.bytes;
      job.reject(new InboxUnavailableError('DEADLINE', 'the database was not free in time'));
    }
    this.#waiting = inTime;
  }
}

function failed(failure: unknown): InboxUnavailableError {
  return new InboxUnavailableError('FAILED', messageOf(failure), { cause: failure });
}
