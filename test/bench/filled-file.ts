import { constants } from 'node:fs';
import { copyFile, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { runProcess } from './run-process.ts';

/** A database file that already holds many processed events. It is made once a run, and only if it is asked for. */
export class FilledFile {
  /** How many events it holds. */
  readonly events: number;
  readonly #file: string;
  readonly #progress: (line: string) => void;
  #bytes: Promise<number> | undefined;

  constructor(folder: string, events: number, progress: (line: string) => void) {
    this.events = events;
    this.#file = join(folder, 'filled.db');
    this.#progress = progress;
  }

  /** Makes it unless it is there, and tells its size. */
  bytes(): Promise<number> {
    return (this.#bytes ??= this.#fill());
  }

  /** Puts a copy in place, for a server to go on with. */
  async copyTo(file: string): Promise<void> {
    await this.bytes();
    // Its last process has closed the database, so there is no write-ahead log beside it.
    await copyFile(this.#file, file, constants.COPYFILE_FICLONE);
    // On the disk now, or the kernel writes it back during a measurement and competes with the commits.
    await using handle = await open(file, 'r+');
    await handle.sync();
  }

  async #fill(): Promise<number> {
    this.#progress(`storing and handling ${this.events} events`);
    const report = await runProcess(new URL('fill.ts', import.meta.url), [this.#file, String(this.events)]);
    z.object({ processed: z.literal(this.events) }).parse(report);
    return (await stat(this.#file)).size;
  }
}
