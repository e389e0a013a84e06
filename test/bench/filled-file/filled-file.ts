import { constants } from 'node:fs';
import { copyFile, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { runProcess } from '../run-process.ts';

/** How many events are really delivered; the others are copies of them. */
const DELIVERED = 2_000;

/** A database file that already holds many processed events. It is made once a run, and only if it is asked for. */
export class FilledFile {
  /** How many events it holds. */
  readonly events: number;
  readonly #file: string;
  readonly #progress: (line: string) => void;
  #bytes: Promise<number> | undefined;

  constructor(folder: string, events: number, progress: (line: string) => void) {
    this.events = events;
    this.#file = join(folder, `filled-${events}.db`);
    this.#progress = progress;
  }

  /** Makes it unless it is there, and tells its size. */
  bytes(): Promise<number> {
    return (this.#bytes ??= this.#fill());
  }

  /** Puts a copy in place, for a server to go on with. */
  async copyTo(file: string): Promise<string> {
    await this.bytes();
    // Its last process has closed the database, so there is no write-ahead log beside it.
    await copyFile(this.#file, file, constants.COPYFILE_FICLONE);
    await sync(file);
    return file;
  }

  /** The file itself, where it is too large to be copied: what is measured adds to it. */
  async itself(): Promise<string> {
    await this.bytes();
    return this.#file;
  }

  async remove(): Promise<void> {
    for (const end of ['', '-wal', '-shm']) await rm(`${this.#file}${end}`, { force: true });
  }

  async #fill(): Promise<number> {
    this.#progress(`making a file of ${this.events} processed events`);
    const count = String(this.events);
    await runProcess(new URL('fill.ts', import.meta.url), [this.#file, String(Math.min(DELIVERED, this.events))]);
    const report = await runProcess(new URL('multiply.ts', import.meta.url), [this.#file, count]);
    z.object({ processed: z.literal(this.events) }).parse(report);
    await sync(this.#file);
    return (await stat(this.#file)).size;
  }
}

/** On the disk now, or the kernel writes it back during a measurement and competes with the commits. */
async function sync(file: string): Promise<void> {
  await using handle = await open(file, 'r+');
  await handle.sync();
}
