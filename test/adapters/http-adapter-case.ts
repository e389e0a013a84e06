import type { Inbox, Receiver, ReceiverOptions } from '../../src/index.ts';
import type { LogLine } from './recorded-log.ts';

/**
 * Serves a receiver through the adapter under test: every method at `url`, with any query string, on plain HTTP/1.1.
 * `close` ends what connections are left.
 */
export type Mount = (receiver: Receiver) => Promise<{ readonly url: string; readonly close: () => Promise<void> }>;

/** A served receiver and what stands behind it. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly receiver: Receiver;
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
}

/** Serves a receiver with these options; the secret is `SECRET` and the inbox an empty one in memory unless given. */
export type Open = (options?: Partial<ReceiverOptions>) => Promise<Served>;

/** One thing that every HTTP adapter does. */
export interface HttpAdapterCase {
  readonly name: string;
  readonly run: (open: Open) => Promise<void>;
}
