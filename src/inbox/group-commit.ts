import { boundToHere } from '../host/own-context.ts';
import { clearTimeout, performance, setImmediate, setTimeout } from '../host/real-timers.ts';
import { InboxUnavailableError, messageOf } from '../errors.ts';
import { unrefTimer } from '../host/unref-timer.ts';

/** `busy` if another connection has the lock; the job is then tried again. */
export type CommitOutcome = { readonly result: unknown } | { readonly failure: InboxUnavailableError } | 'busy';

/**
 * @param isAgain - the jobs were `busy` before, so no later job may be committed before them
 * @param answer - answers a job that is durable before the others of its group are done
 */
export type CommitGroup<Job> = (
  jobs: readonly Job[],
  isAgain: boolean,
  answer: AnswerJob,
) => readonly CommitOutcome[] | Promise<readonly CommitOutcome[]>;

export type AnswerJob = (at: number, result: unknown) => void;

export function unavailable(failure: unknown): InboxUnavailableError {
  return new InboxUnavailableError('FAILED', messageOf(failure), { cause: failure });
}

interface Waiting<Job> {
  readonly arrival: number;
  readonly job: Job;
  readonly bytes: number;
  readonly deadline: number;
  resolve(result: unknown): void;
  reject(failure: InboxUnavailableError): void;
}

export interface QueueLimits {
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  /** how many groups may be committed at once; two unless set */
  readonly mostUnderWay?: number;
  /** how many jobs a group may have; 512 unless set */
  readonly maxGroup?: number;
}

/** A commit must not grow with the queue, because its jobs wait for it. */
const MAX_GROUP = 512;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
const MOST_UNDER_WAY = 2;
/** After a longer commit, the next group is formed only when it is needed, so that it has all jobs until then. */
const SLOW_COMMIT_MS = 4;
const HANDOVER_MS = 1;
const BUSY_RETRY_MS = 25;
const CLOSE_LIMIT_MS = 10_000;
const LATE_LOOK_MS = 1_000;

/**
 * Commits the jobs of one turn of the event loop in one transaction, with one sync of the disk, and then answers them.
 * A job that has not begun by its deadline leaves the queue, even while the disk hangs.
 */
export class GroupCommit<Job> {
  readonly #commit: CommitGroup<Job>;
  readonly #limits: QueueLimits;
  #waiting: Waiting<Job>[] = [];
  #arrivals = 0;
  #underWay = 0;
  #groupsUnderWay = 0;
  #lastBegunAt = 0;
  #lastTookMs = 0;
  /** until the next group is formed, while another one is committed */
  #heldBack: NodeJS.Timeout | undefined;
  #bytes = 0;
  #scheduled = false;
  #busyTurns = 0;
  #closed = false;
  /** moves have no deadline, but `close` must not wait for a locked database for ever */
  #giveUpAt = Infinity;
  #drained: (() => void) | undefined;
  #lateLook: NodeJS.Timeout | undefined;

  constructor(commit: CommitGroup<Job>, limits: QueueLimits = { maxWaiting: Infinity, maxWaitingBytes: Infinity }) {
    this.#commit = commit;
    this.#limits = limits;
  }

  /**
   * @param job - may run again after a rollback
   * @param bytes - the memory that the job uses while it waits
   * @param deadline - on the clock of `performance.now()`
   * @throws InboxUnavailableError
   */
  submit(job: Job, bytes: number, deadline: number): Promise<unknown> {
    const count = this.#waiting.length + this.#underWay;
    const full = count >= this.#limits.maxWaiting;
    const heavy = this.#bytes > 0 && this.#bytes + bytes > this.#limits.maxWaitingBytes;
    if (!this.#closed && (full || heavy)) {
      return Promise.reject(new InboxUnavailableError('OVERLOADED', `${count} deliveries are already waiting`));
    }
    return this.#enqueue(job, bytes, deadline);
  }

  /** Has no limit: the number of handlers bounds the moves, and each ended attempt must be written. */
  submitMove(job: Job): Promise<unknown> {
    return this.#enqueue(job, 0, Infinity);
  }

  #enqueue(job: Job, bytes: number, deadline: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new InboxUnavailableError('CLOSED', 'the inbox is closed'));
      this.#arrivals += 1;
      this.#waiting.push({ arrival: this.#arrivals, job, bytes, deadline, resolve, reject });
      this.#bytes += bytes;
      this.#schedule();
    });
  }

  /** Resolves when all jobs are settled, or after ten seconds. */
  close(): Promise<void> {
    this.#closed = true;
    this.#giveUpAt = Math.min(this.#giveUpAt, performance.now() + CLOSE_LIMIT_MS);
    return new Promise((resolve) => {
      if (this.#isDrained) return resolve();
      const before = this.#drained;
      const drained = (): void => {
        clearTimeout(limit);
        before?.();
        resolve();
      };
      const limit = setTimeout(() => {
        this.#giveUpLate();
        drained();
      }, CLOSE_LIMIT_MS + 1);
      this.#drained = drained;
    });
  }

  get underWayMs(): number {
    return this.#groupsUnderWay === 0 ? 0 : performance.now() - this.#lastBegunAt;
  }

  get #isDrained(): boolean {
    return this.#waiting.length === 0 && this.#underWay === 0;
  }

  #schedule(delayMs = 0): void {
    // If one group finds the lock taken, the next group might find it free and be committed first.
    const most = this.#busyTurns > 0 ? 1 : (this.#limits.mostUnderWay ?? MOST_UNDER_WAY);
    if (this.#scheduled) return;
    if (this.#groupsUnderWay >= most) return this.#lookForLate();
    if (this.#isHeldBack()) return;
    this.#scheduled = true;
    // setImmediate runs after all sockets of this turn were read, so the group has all of their jobs.
    if (delayMs === 0) setImmediate(this.#flush);
    else setTimeout(this.#flush, delayMs);
  }

  #isHeldBack(): boolean {
    if (this.#groupsUnderWay === 0 || this.#lastTookMs < SLOW_COMMIT_MS || this.#waiting.length >= MAX_GROUP)
      return false;
    if (this.#heldBack !== undefined) return true;
    const expectedMs = Math.min(this.#lastTookMs, LATE_LOOK_MS) - HANDOVER_MS;
    const leftMs = this.#lastBegunAt + expectedMs - performance.now();
    if (leftMs < 1) return false;
    this.#heldBack = setTimeout(() => {
      this.#heldBack = undefined;
      this.#goOn();
    }, leftMs);
    return true;
  }

  /** Runs in the context in which the inbox was opened, because a group contains the writes of many callers. */
  readonly #flush = boundToHere((): void => {
    this.#scheduled = false;
    this.#giveUpLate();
    const group = this.#takeGroup();
    if (group.length > 0) this.#run(group);
    this.#goOn();
  });

  #goOn(): void {
    if (this.#waiting.length > 0) this.#schedule();
    else if (this.#underWay === 0) this.#drained?.();
  }

  #run(group: readonly Waiting<Job>[]): void {
    const jobs = group.map(({ job }) => job);
    const done = this.#commit(jobs, this.#busyTurns > 0, (at, result) => group[at]?.resolve(result));
    if (!(done instanceof Promise)) return this.#settle(group, done);
    this.#underWay += group.length;
    this.#groupsUnderWay += 1;
    const begunAt = performance.now();
    this.#lastBegunAt = begunAt;
    const over = (outcomes: readonly CommitOutcome[]): void => {
      this.#underWay -= group.length;
      this.#groupsUnderWay -= 1;
      clearTimeout(this.#heldBack);
      this.#heldBack = undefined;
      this.#lastTookMs = performance.now() - begunAt;
      this.#settle(group, outcomes);
      this.#goOn();
    };
    done.then(over, (failure: unknown) => {
      const outcome = { failure: unavailable(failure) };
      over(group.map(() => outcome));
    });
  }

  #settle(group: readonly Waiting<Job>[], outcomes: readonly CommitOutcome[]): void {
    const again: Waiting<Job>[] = [];
    for (const [at, waiting] of group.entries()) {
      const outcome = outcomes[at];
      if (outcome === undefined || outcome === 'busy') {
        again.push(waiting);
        continue;
      }
      this.#bytes -= waiting.bytes;
      if ('failure' in outcome) waiting.reject(outcome.failure);
      else waiting.resolve(outcome.result);
    }
    if (again.length === 0) {
      this.#busyTurns = 0;
      return;
    }
    // The group before this one may have finished first.
    this.#waiting = [...again, ...this.#waiting].sort((one, other) => one.arrival - other.arrival);
    this.#busyTurns += 1;
    this.#schedule(Math.ceil(Math.random() * Math.min(2 ** this.#busyTurns, BUSY_RETRY_MS)));
  }

  #takeGroup(): Waiting<Job>[] {
    let bytes = 0;
    let count = 0;
    const most = this.#limits.maxGroup ?? MAX_GROUP;
    for (const job of this.#waiting) {
      if (count === most || (count > 0 && bytes + job.bytes > MAX_GROUP_BYTES)) break;
      bytes += job.bytes;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  #lookForLate(): void {
    if (this.#lateLook !== undefined) return;
    const look = (): void => {
      this.#lateLook = undefined;
      this.#giveUpLate();
      if (this.#waiting.length > 0) this.#lookForLate();
    };
    this.#lateLook = unrefTimer(setTimeout(look, LATE_LOOK_MS));
  }

  #giveUpLate(): void {
    const now = performance.now();
    const isLate = ({ deadline }: Waiting<Job>): boolean => Math.min(deadline, this.#giveUpAt) < now;
    if (!this.#waiting.some(isLate)) return;
    const inTime: Waiting<Job>[] = [];
    for (const job of this.#waiting) {
      if (!isLate(job)) {
        inTime.push(job);
        continue;
      }
      this.#bytes -= job.bytes;
      job.reject(new InboxUnavailableError('DEADLINE', 'the database stayed locked past the deadline'));
    }
    this.#waiting = inTime;
  }
}
