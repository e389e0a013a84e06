import type { Controls, ReceiverSetup } from './receiver-setup.ts';

/** Every method at `url`, with any query string, on plain HTTP/1.1. */
export interface Served extends Omit<Controls, 'dispose'>, AsyncDisposable {
  readonly url: string;
}

/** The secret is `SECRET` by default. */
export type Open = (setup?: ReceiverSetup) => Promise<Served>;

export interface HttpAdapterCase {
  readonly name: string;
  /** What the case needs of the server that calls the adapter. */
  readonly needs?: readonly Need[];
  readonly setup?: ReceiverSetup;
  readonly run: (served: Served) => Promise<void>;
}

/** What some servers do not give to the code behind them. */
export type Need =
  /** Calls the adapter after the head, and passes the body on while it arrives. */
  | 'bodies as they arrive'
  | 'encoded bodies'
  | 'chunk extensions'
  | '100-continue'
  /** Removes white space around the value of a header. */
  | 'trimmed headers'
  | 'all values of a header'
  | 'bodies over 1 MiB'
  /** Under `application/json`. */
  | 'bytes that are no text'
  | 'code that outlives its answer'
  | 'code that outlives its client'
  /** A client can read the answer while it writes a body that never ends. */
  | 'answers to clients that write on'
  | 'the Connection header'
  | 'the end of a connection'
  | 'kept connections';

/** Why the server's own code, not the adapter's, decides that. */
export type Lacks = Partial<Readonly<Record<Need, string>>>;

/** Of @hono/node-server, for web streams. */
export const LOST_ANSWERS: Lacks = {
  'answers to clients that write on':
    '@hono/node-server resets a connection that it has ended while the client goes on to write, and the answer is lost',
};
