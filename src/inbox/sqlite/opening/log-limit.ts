import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileOf, type SqliteDatabase } from './database.ts';

/**
 * Pages in the write-ahead log before a checkpoint. Each event touches a random page of the index on ids; a longer log
 * lets many events share the writing back of such a page (docs/benchmarks.md).
 */
const CHECKPOINT_PAGES = 8_000;
/** A log shorter than this would be copied with nearly every commit. */
const LEAST_PAGES = 100;
/** A checkpoint may need as much again in the file, commits continue meanwhile, and the rest is for the events. */
const SHARE_OF_DISK = 1 / 4;
/** A log that a burst has made longer than this multiple is cut after its checkpoint. */
const KEPT = 2;

/** Whether commits of a connection copy the write-ahead log into the file when it has become long. */
export function checkpointItself(database: SqliteDatabase, itself: boolean): void {
  const file = fileOf(database);
  const pageBytes = Number(database.pragma('page_size', { simple: true }));
  const pages = longestLog(freeBytes(dirname(file)) + logBytes(file), pageBytes);
  database.pragma(`wal_autocheckpoint = ${itself ? pages : 0}`);
  database.pragma(`journal_size_limit = ${KEPT * pages * pageBytes}`);
}

/**
 * For when others have committed who leave checkpoints to this connection. The log keeps its size on the disk up to the
 * limit, so only beyond it is it certain to be long.
 */
export function checkpointIfLong(database: SqliteDatabase): void {
  if (logBytes(fileOf(database)) > Number(database.pragma('journal_size_limit', { simple: true })))
    checkpoint(database);
}

/** Copies the log into the file, except pages that a reader still uses. A log that was copied whole is written anew. */
export function checkpoint(database: SqliteDatabase): void {
  database.pragma('wal_checkpoint(PASSIVE)');
}

/** How many pages the log may have before a checkpoint where a disk has so many bytes for it. */
export function longestLog(bytes: number, pageBytes: number): number {
  return Math.min(Math.max(Math.floor((bytes * SHARE_OF_DISK) / pageBytes), LEAST_PAGES), CHECKPOINT_PAGES);
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
