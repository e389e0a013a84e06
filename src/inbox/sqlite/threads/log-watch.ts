import type { Connection } from '../connection.ts';
import { checkpoint, pagesBeforeCheckpoint } from '../opening/log-limit.ts';
import type { GiveBack, LockLender } from './write-lock.ts';

/** If a reader keeps the log from being copied, the thread tries again after this part of the pages before a checkpoint. */
const AGAIN = 1 / 8;

/**
 * The writer's part of checkpoints. When the log is long, the writer asks the checkpoint thread to copy it, and continues.
 * When the thread has copied most of it, the writer copies the rest, and the next commit begins the log anew. If the log
 * becomes as long again meanwhile, the writer copies it itself, or waits while the thread copies.
 */
export class LogWatch {
  readonly #connection: Pick<Connection, 'database'>;
  readonly #lock: LockLender;
  readonly #askToCopy: () => void;
  #isAsked = false;
  #pages = 0;
  /** the pages at which the writer acts next; `null` means the limit */
  #next: number | null = null;
  #continue: GiveBack = () => {};

  constructor(connection: Pick<Connection, 'database'>, lock: LockLender, askToCopy: () => void) {
    this.#connection = connection;
    this.#lock = lock;
    this.#askToCopy = askToCopy;
  }

  /** Call it after each commit of this process. */
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
