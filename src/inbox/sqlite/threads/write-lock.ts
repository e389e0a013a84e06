import type { MessagePort } from 'node:worker_threads';

export type GiveBack = () => void;

export type BorrowLock = () => Promise<GiveBack>;

/** Without another writer in this process. */
export const FREE: BorrowLock = async () => () => {};

/** The writer's side. SQLite's lock has no queue, so another connection would rarely get it from a busy writer. */
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

  /** The writer works before the next borrower, so both make progress. */
  #takeBack(): void {
    this.#lent = false;
    this.#returned();
    while (!this.#lent && this.#parked.length > 0) this.#parked.shift()?.();
    const next = this.#lent ? undefined : this.#asking.shift();
    if (next !== undefined) this.lend(next);
  }

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

/** The operators' thread's side. One caller at a time borrows. */
export class LockBorrower {
  #port: MessagePort | null = null;
  #granted: (() => void) | null = null;
  #last: Promise<unknown> = Promise.resolve();

  get hasLender(): boolean {
    return this.#port !== null;
  }

  /** Call it after each start of the writer. */
  use(port: MessagePort): void {
    this.#port?.close();
    this.#port = port;
    this.#granted?.();
    port.on('message', () => {
      if (this.#port === port) this.#granted?.();
    });
    // Without a writer, no connection can be lent.
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
