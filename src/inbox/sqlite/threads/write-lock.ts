import type { MessagePort } from 'node:worker_threads';

/** Gives back what was lent. */
export type GiveBack = () => void;

/** Asks for the write lock of the file: resolves when the writer leaves it alone. */
export type BorrowLock = () => Promise<GiveBack>;

/** For where nobody else in this process writes. */
export const FREE: BorrowLock = async () => () => {};

/**
 * The writer's side. SQLite's own lock has no queue: whoever finds it taken tries again some time later, and beside a writer
 * under load would never find it free. So who wants it in this process asks, and the writer pauses after its commit.
 */
export class LockLender {
  #lent = false;
  readonly #asking: ((giveBack: GiveBack) => void)[] = [];
  readonly #parked: (() => void)[] = [];
  readonly #returned: () => void;

  /** @param returned - runs when a borrower may have written */
  constructor(returned = (): void => {}) {
    this.#returned = returned;
  }

  get isLent(): boolean {
    return this.#lent;
  }

  /** Runs the writer's own work at once, or when the lock is back. */
  run(work: () => void): void {
    if (this.#lent) this.#parked.push(work);
    else work();
  }

  lend(to: (giveBack: GiveBack) => void): void {
    if (this.#lent) {
      this.#asking.push(to);
      return;
    }
    this.#lent = true;
    let isBack = false;
    to(() => {
      if (isBack) return;
      isBack = true;
      this.#takeBack();
    });
  }

  /** What the writer has been asked for meanwhile comes before the next who borrows: so both get on. */
  #takeBack(): void {
    this.#lent = false;
    this.#returned();
    // Each of them may lend it.
    while (!this.#lent && this.#parked.length > 0) this.#parked.shift()?.();
    const next = this.#lent ? undefined : this.#asking.shift();
    if (next !== undefined) this.lend(next);
  }

  /** Lends to another thread, at the other end of a channel, until that is gone. */
  serve(port: MessagePort): void {
    let giveBack: GiveBack = () => {};
    let isGone = false;
    port.on('message', (message: 'borrow' | 'back') => {
      if (message === 'back') return giveBack();
      this.lend((back) => {
        if (isGone) return back();
        giveBack = back;
        port.postMessage('lent');
      });
    });
    port.on('close', () => {
      isGone = true;
      giveBack();
    });
    port.unref();
  }
}

/** The other end, in a thread that is not the one that the writer answers to. One at a time borrows. */
export class LockBorrower {
  #port: MessagePort | null = null;
  #granted: (() => void) | null = null;
  #last: Promise<unknown> = Promise.resolve();

  get hasLender(): boolean {
    return this.#port !== null;
  }

  /** The writer was started, maybe again. */
  use(port: MessagePort): void {
    // Its other end gives up what was asked for there.
    this.#port?.close();
    this.#port = port;
    this.#granted?.();
    port.on('message', () => {
      if (this.#port === port) this.#granted?.();
    });
    // Without a writer there is nobody to wait for.
    port.on('close', () => {
      if (this.#port !== port) return;
      this.#port = null;
      this.#granted?.();
    });
    port.unref();
  }

  readonly borrow: BorrowLock = () => {
    const { promise: returned, resolve: giveBack } = Promise.withResolvers<void>();
    const mine = this.#last.then(() => this.#ask());
    this.#last = mine.then(() => returned);
    return mine.then((port) => () => {
      port?.postMessage('back');
      giveBack();
    });
  };

  #ask(): Promise<MessagePort | null> {
    const port = this.#port;
    if (port === null) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#granted = () => {
        this.#granted = null;
        resolve(port);
      };
      port.postMessage('borrow');
    });
  }
}
