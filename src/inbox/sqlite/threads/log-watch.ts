import type { Connection } from '../connection.ts';
import { checkpoint, pagesBeforeCheckpoint } from '../opening/log-limit.ts';
import type { GiveBack, LockLender } from './write-lock.ts';

/** A log that could not be begun anew is copied again when it is longer by this part of the pages before a checkpoint. */
const AGAIN = 1 / 8;

/**
 * The writer's part of checkpoints. When the log is long, it asks for another thread to copy it, and continues. When most is
 * copied, it copies the rest, and its next commit begins the log anew. Where the log becomes as long again meanwhile, the writer copies it
 * itself, or waits for the thread that is at it.
 */
export class LogWatch {
  readonly #connection: Pick<Connection, 'database'>;
  readonly #lock: LockLender;
  readonly #askToCopy: () => void;
  #isAsked = false;
  #pages = 0;
  /** the pages at which something is done; `null` before the log was looked at */
  #next: number | null = null;
  #continue: GiveBack = () => {};

  constructor(connection: Pick<Connection, 'database'>, lock: LockLender, askToCopy: () => void) {
    this.#connection = connection;
    this.#lock = lock;
    this.#askToCopy = askToCopy;
  }

  /** After each commit, whoever has made it. */
  look(): void {
    try {
      const database = this.#connection.database();
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
      // Whoever commits next says what is wrong with the file.
    }
  }

  /**
   * The answer: nobody copies any more.
   *
   * @param isUseful - whether copying the rest makes sense now
   */
  copied(isUseful: boolean): void {
    this.#isAsked = false;
    try {
      const database = this.#connection.database();
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
