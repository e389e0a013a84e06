import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

const MEMORY = '/dev/shm';
const ROOM_BYTES = 2 ** 31;

/**
 * Where scratch folders are: in memory where there is room, as waiting for a disk at each commit costs more than most tests.
 * A process that is killed loses nothing there either.
 */
const PLACE = isRoomInMemory() ? MEMORY : tmpdir();

/** Whether there is a folder that lies in memory, with room for gigabytes. */
export function isRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > ROOM_BYTES;
}

/** A new folder for a suite, which removes it itself with `using`. */
export function ownFolder(place = PLACE): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(place, 'hookbox-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A new folder for the tests of a file or a `describe`, gone after them. */
export function suiteFolder(place?: string): string {
  const folder = ownFolder(place);
  afterAll(() => folder[Symbol.dispose]());
  return folder.path;
}

/** A new folder that is gone after the running test. */
export function scratchFolder(): string {
  const folder = ownFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  return folder.path;
}

/** The path of a file that is not there yet, in a folder of its own that is gone after the running test. */
export function scratchFile(name?: string): string {
  return (name === undefined ? sharedFile() : null) ?? join(scratchFolder(), name ?? 'shop.db');
}

let sharedFile: () => string | null = () => null;

/** Has `scratchFile` give out a file that tests share, whenever `take` has one for it. */
export function shareScratchFile(take: () => string | null): void {
  sharedFile = take;
}
