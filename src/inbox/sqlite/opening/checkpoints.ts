import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { GiveBack, LockLender } from '../threads/write-lock.ts';
import { fileOf, type SqliteDatabase } from './database.ts';

/**
 * Each event changes a random page of the index on ids. In a longer log, more events share a page
 * (docs/benchmarks.md).
 */
const CHECKPOINT_BYTES = 32 * 1024 * 1024;
/** A shorter log would be copied by nearly every commit. */
const LEAST_PAGES = 100;
/** The file may need as much space again, while commits continue. */
const SHARE_OF_DISK = 1 / 4;
/** A longer log is truncated after its checkpoint. */
const KEPT = 2;
/** Copying this much takes the writer as long as a few commits. */
const LITTLE = 1 / 16;

/** Whether a connection's commits copy a long log into the file. */
export function checkpointItself(database: SqliteDatabase, itself: boolean): void {
  const file = fileOf(database);
  const pageBytes = Number(database.pragma('page_size', { simple: true }));
  const pages = longestLog(freeBytes(dirname(file)) + logBytes(file), pageBytes);
  database.pragma(`wal_autocheckpoint = ${itself ? pages : 0}`);
  database.pragma(`journal_size_limit = ${KEPT * pages * pageBytes}`);
}

function pagesBeforeCheckpoint(database: SqliteDatabase): number {
  const [bytes, pageBytes] = ['journal_size_limit', 'page_size'].map((name) => database.pragma(name, { simple: true }));
  return Number(bytes) / KEPT / Number(pageBytes);
}

interface Log {
  /** another connection copies the log; with FULL, or a reader uses it */
  readonly isBusy: boolean;
  readonly pages: number;
  readonly copied: number;
}

/**
 * Copies the log, except pages that a reader uses. The commit after a complete copy restarts the log. FULL keeps other
 * connections from writing; NOOP only checks.
 */
export function checkpoint(database: SqliteDatabase, mode: 'NOOP' | 'PASSIVE' | 'FULL' = 'PASSIVE'): Log {
  const [{ busy, log, checkpointed }] = database.pragma(`wal_checkpoint(${mode})`) as [Record<string, number>];
  return { isBusy: Number(busy) !== 0, pages: Number(log), copied: Number(checkpointed) };
}

/**
 * Copies the log while the writer commits, until little is left. `false` while others prevent this.
 *
 * @param sync - syncs the file, because SQLite does not if the log grows in that time; the writer would have to sync all
 * pages
 */
export function copyMostOfLog(database: SqliteDatabase, sync: () => void): boolean {
  const little = pagesBeforeCheckpoint(database) * LITTLE;
  for (let before = Infinity; ;) {
    const { isBusy, pages, copied } = checkpoint(database);
    // A commit may hold back a few pages.
    if (isBusy || pages - copied > little) return false;
    sync();
    const left = checkpoint(database, 'NOOP').pages - copied;
    // On a slow disk, more passes do not help.
    if (left <= little || left > before / 2) return true;
    before = left;
  }
}

export function longestLog(bytes: number, pageBytes: number): number {
  return Math.min(Math.max(Math.floor((bytes * SHARE_OF_DISK) / pageBytes), LEAST_PAGES), CHECKPOINT_BYTES / pageBytes);
}

function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** A sandbox may hide the size. The disk then counts as large. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}

/** A reader may keep the log from being copied, so the thread tries again later. */
const AGAIN = 1 / 8;

/**
 * The writer asks the checkpoint thread to copy a long log, and copies the rest itself. If the log becomes as long
 * again
 * in that time, the writer copies it, or waits for the thread.
 */
export class LogWatch {
  readonly #database: () => SqliteDatabase;
  readonly #lock: LockLender;
  readonly #askToCopy: () => void;
  #isRequested = false;
  #pages = 0;
  /** the pages at which the writer acts; `null` means the limit */
  #next: number | null = null;
  #continue: GiveBack = () => {};

  constructor(database: () => SqliteDatabase, lock: LockLender, askToCopy: () => void) {
    this.#database = database;
    this.#lock = lock;
    this.#askToCopy = askToCopy;
  }

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
      if (!this.#isRequested) {
        this.#isRequested = true;
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
   * @param isUseful - whether the writer can copy the rest
   */
  copied(isUseful: boolean): void {
    this.#isRequested = false;
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
      if (this.#isRequested) this.#continue = giveBack;
      else giveBack();
    });
  }
}
