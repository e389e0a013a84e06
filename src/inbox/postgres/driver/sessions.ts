import { performance } from '../../../host/real-timers.ts';
import { InboxOpenError, isInstance } from '../../../errors.ts';
import { answerOf, LATE } from './answer-of.ts';
import type { PostgresConnection } from './client.ts';
import type { Connections } from './connections.ts';
import { DatabaseFailure } from './faults.ts';
import type { LentShare } from './lent-share.ts';
import { Session, type Preparing } from './session.ts';

export interface Opening {
  /** Asked before anything else, until it has succeeded once. */
  readonly open: (session: Session) => Promise<void>;
  /** What is said to who may not even connect. */
  readonly refusalOf: (failure: DatabaseFailure) => Error;
}

/** Connections while they are ours, on an inbox that is open. */
export class Sessions {
  readonly #connections: Connections;
  readonly #preparing: Preparing;
  readonly #opening: Opening;
  readonly #takeMs: number;
  #opened: Promise<void> | undefined;
  /** when each was heard of last */
  readonly #heardAt = new WeakMap<PostgresConnection, number>();
  /** when something was asked that was never answered */
  #silentAt = -Infinity;

  /** @param takeMs - for so long a connection is waited for */
  constructor(connections: Connections, preparing: Preparing, opening: Opening, takeMs: number) {
    this.#connections = connections;
    this.#preparing = preparing;
    this.#opening = opening;
    this.#takeMs = takeMs;
  }

  get share(): LentShare {
    return this.#connections.share;
  }

  isWaitedFor(): boolean {
    return this.#connections.isWaitedFor();
  }

  /**
   * @param answerMs - for so long an answer is waited for on it
   * @param signal - of a caller that may stop waiting; then the connection goes to another caller
   */
  async take(answerMs: number, signal?: AbortSignal): Promise<Session> {
    const connection = await this.#heard(signal);
    try {
      const first = new Session(connection, this.#preparing, this.#takeMs);
      const opened = (this.#opened ??= this.#opening.open(first).catch((failure: unknown) => {
        if (first.unansweredAt !== null) this.#silentAt = Math.max(this.#silentAt, first.unansweredAt);
        this.#opened = undefined;
        throw failure;
      }));
      await opened;
      return new Session(connection, this.#preparing, answerMs);
    } catch (failure) {
      this.#connections.giveBack(connection, true);
      throw failure;
    }
  }

  giveBack({ connection, unansweredAt }: Session, isBroken: boolean): void {
    if (unansweredAt !== null) this.#silentAt = Math.max(this.#silentAt, unansweredAt);
    else if (!isBroken) this.#heardAt.set(connection, performance.now());
    this.#connections.giveBack(connection, isBroken || unansweredAt !== null);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** What has made one connection silent has most likely done so to all that lay idle then: each would be waited for in its turn. */
  async #heard(signal: AbortSignal | undefined): Promise<PostgresConnection> {
    for (;;) {
      const connection = await this.#connection(signal);
      if ((this.#heardAt.get(connection) ?? Infinity) >= this.#silentAt) return connection;
      // One that has something under way is cut off by `pg`; of another one it awaits a goodbye that may never come.
      connection.query({ text: 'SELECT 1', query_timeout: 1 }).catch(() => {});
      this.#connections.giveBack(connection, true);
    }
  }

  async #connection(signal: AbortSignal | undefined): Promise<PostgresConnection> {
    signal?.throwIfAborted();
    try {
      const taking = this.#connections.take();
      const connection = await answerOf(unlessAborted(taking, signal), this.#takeMs);
      if (connection !== LATE) return connection;
      // Should it come yet, somebody else has it.
      taking.then((late) => this.#connections.giveBack(late, false)).catch(() => {});
    } catch (failure) {
      if (isInstance(failure, InboxOpenError)) throw failure;
      throw this.#opening.refusalOf(new DatabaseFailure(failure, { isLogin: true }));
    }
    signal?.throwIfAborted();
    throw new DatabaseFailure(new Error('timeout exceeded when trying to connect'));
  }
}

/** Resolves with `LATE` as soon as its caller no longer waits. */
async function unlessAborted<T>(asked: Promise<T>, signal: AbortSignal | undefined): Promise<T | typeof LATE> {
  if (signal === undefined) return asked;
  const { promise: aborted, resolve } = Promise.withResolvers<typeof LATE>();
  const abort = (): void => resolve(LATE);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([asked, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
