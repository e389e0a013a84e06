import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { GiveBack, LockLender } from '../threads/write-lock.ts';
import { fileOf, type SqliteDatabase } from './database.ts';

/**
 * The length of the write-ahead log before a checkpoint. Each event touches a random page of the index on ids; a longer log
 * lets many events share the writing back of such a page (docs/benchmarks.md).
 */
const CHECKPOINT_BYTES = 32 * 1024 * 1024;
/** A log shorter than this would be copied with nearly every commit. */
const LEAST_PAGES = 100;
/** A checkpoint may need as much again in the file, commits continue meanwhile, and the rest is for the events. */
const SHARE_OF_DISK = 1 / 4;
/** A log that a burst has made longer than this multiple is cut after its checkpoint. */
const KEPT = 2;
/** The writer copies at most about this part of the pages before a checkpoint, which takes as long as a few commits. */
const LITTLE = 1 / 16;

/** Whether commits of a connection copy the write-ahead log into the file when it has become long. */
export function checkpointItself(database: SqliteDatabase, itself: boolean): void {
  const file = fileOf(database);
  const pageBytes = Number(database.pragma('page_size', { simple: true }));
  const pages = longestLog(freeBytes(dirname(file)) + logBytes(file), pageBytes);
  database.pragma(`wal_autocheckpoint = ${itself ? pages : 0}`);
  database.pragma(`journal_size_limit = ${KEPT * pages * pageBytes}`);
}

/** How many pages the log may have before a checkpoint, as `checkpointItself` has set it. */
function pagesBeforeCheckpoint(database: SqliteDatabase): number {
  const [bytes, pageBytes] = ['journal_size_limit', 'page_size'].map((name) => database.pragma(name, { simple: true }));
  return Number(bytes) / KEPT / Number(pageBytes);
}

interface Log {
  /** another connection copies the log; FULL: or a reader uses it */
  readonly isBusy: boolean;
  readonly pages: number;
  readonly copied: number;
}

/**
 * Copies the log into the file, except pages that a reader still uses. A log that was copied whole is begun anew by the next
 * commit. FULL keeps other connections from writing meanwhile; NOOP only looks.
 */
export function checkpoint(database: SqliteDatabase, mode: 'NOOP' | 'PASSIVE' | 'FULL' = 'PASSIVE'): Log {
  const [{ busy, log, checkpointed }] = database.pragma(`wal_checkpoint(${mode})`) as [Record<string, number>];
  return { isBusy: Number(busy) !== 0, pages: Number(log), copied: Number(checkpointed) };
}

/**
 * Copies the log while the writer commits. Each pass copies what the writer wrote during the pass before, until little is left.
 * Returns `false` while a reader or another connection keeps the rest from being copied.
 *
 * @param sync - syncs the file. SQLite syncs only after a pass that reaches the end of the log, and no pass does while the
 * writer commits. Without this, the writer's sync would write all pages.
 */
export function copyMostOfLog(database: SqliteDatabase, sync: () => void): boolean {
  const little = pagesBeforeCheckpoint(database) * LITTLE;
  for (let before = Infinity; ;) {
    const { isBusy, pages, copied } = checkpoint(database);
    // A commit that ends just now may hold back its few pages.
    if (isBusy || pages - copied > little) return false;
    sync();
    const left = checkpoint(database, 'NOOP').pages - copied;
    // If the disk is slower than the writer, more passes leave no less.
    if (left <= little || left > before / 2) return true;
    before = left;
  }
}

/** How many pages the log may have before a checkpoint where a disk has so many bytes for it. */
export function longestLog(bytes: number, pageBytes: number): number {
  return Math.min(Math.max(Math.floor((bytes * SHARE_OF_DISK) / pageBytes), LEAST_PAGES), CHECKPOINT_BYTES / pageBytes);
}

function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Without an answer, as in a sandbox such as Deno's, the disk counts as large. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}

/** If a reader keeps the log from being copied, the thread tries again after this part of the pages before a checkpoint. */
const AGAIN = 1 / 8;

/**
 * The writer's part of checkpoints. When the log is long, the writer asks the checkpoint thread to copy it, and continues.
 * When the thread has copied most of it, the writer copies the rest, and the next commit begins the log anew. If the log
 * becomes as long again meanwhile, the writer copies it itself, or waits while the thread copies.
 */
export class LogWatch {
  readonly #database: () => SqliteDatabase;
  readonly #lock: LockLender;
  readonly #askToCopy: () => void;
  #isAsked = false;
  #pages = 0;
  /** the pages at which the writer acts next; `null` means the limit */
  #next: number | null = null;
  #continue: GiveBack = () => {};

  constructor(database: () => SqliteDatabase, lock: LockLender, askToCopy: () => void) {
    this.#database = database;
    this.#lock = lock;
    this.#askToCopy = askToCopy;
  }

  /** Call it after each commit of this process. */
  look(): void {
    try {
      const database = this.#database();
      const { pages, copied } = checkpoint(database, 'NOOP');
      const isNew = pages < this.#pages;
      this.#pages = pages;
      if (isNew) this.#next = null;
      this.#next ??= pagesBeforeCheckpoint(database);
      if (pages < this.#next || pages === copied) return;
      this.#next = pages + pagesBeforeCheckpoint(database);
      if (!this.#isAsked) {
        this.#isAsked = true;
        return this.#askToCopy();
      }
      if (checkpoint(database).isBusy) this.#pause();
    } catch {
      // The next commit reports a failure of the file.
    }
  }

  /**
   * The thread has ended its work, or cannot do it.
   *
   * @param isUseful - `false` while a reader or another connection keeps the writer from copying the rest
   */
  copied(isUseful: boolean): void {
    this.#isAsked = false;
    try {
      const database = this.#database();
      const { pages } = checkpoint(database, isUseful ? 'FULL' : 'NOOP');
      this.#pages = pages;
      this.#next = pages + pagesBeforeCheckpoint(database) * AGAIN;
    } catch {
      this.#next = null;
    }
    this.#continue();
    this.#continue = () => {};
  }

  #pause(): void {
    this.#lock.lend((giveBack) => {
      if (this.#isAsked) this.#continue = giveBack;
      else giveBack();
    });
  }
}
