import type { Controls, ReceiverSetup } from './receiver-setup.ts';

/** A receiver served through the adapter under test: every method at `url`, with any query string, on plain HTTP/1.1. */
export interface Served extends Omit<Controls, 'dispose'>, AsyncDisposable {
  readonly url: string;
}

/** Serves a receiver made by this setup; the secret is `SECRET` unless given. */
export type Open = (setup?: ReceiverSetup) => Promise<Served>;

/** One thing that every HTTP adapter does. */
export interface HttpAdapterCase {
  readonly name: string;
  /** what it takes for granted of the server that calls the adapter */
  readonly needs?: readonly Need[];
  /** how the receiver is made */
  readonly setup?: ReceiverSetup;
  readonly run: (served: Served) => Promise<void>;
}

/** What not every server gives to the code behind it. */
export type Need =
  /** hands a request over when its head is there, and its body while it arrives */
  | 'bodies as they arrive'
  /** hands over bodies with a Content-Encoding */
  | 'encoded bodies'
  /** hands over chunked bodies with chunk extensions */
  | 'chunk extensions'
  /** tells a client to go on that waits for it */
  | '100-continue'
  /** takes the white space around a header's value for what HTTP says it is, no part of it */
  | 'trimmed headers'
  /** hands over each value of a header that came several times */
  | 'all values of a header'
  /** hands over bodies of more than 1 MiB */
  | 'bodies over 1 MiB'
  /** hands over bytes that are no UTF-8 under `application/json` */
  | 'bytes that are no text'
  /** lets the code of a request run on when its answer was sent */
  | 'code that outlives its answer'
  /** lets the code of a request run on when its client has gone */
  | 'code that outlives its client'
  /** lets a client read the answer that goes on to write a body which never ends or takes too long */
  | 'answers to clients that write on'
  /** passes the header `Connection` of an answer on */
  | 'the Connection header'
  /** ends a connection when an answer has said so */
  | 'the end of a connection'
  /** keeps a connection whatever the size of a request */
  | 'kept connections';

/** What a server lacks, each with why its own code decides that and not the adapter's. */
export type Lacks = Partial<Readonly<Record<Need, string>>>;

/** What @hono/node-server lacks for web streams. */
export const LOST_ANSWERS: Lacks = {
  'answers to clients that write on':
    '@hono/node-server resets a connection that it has ended while the client goes on to write, and the answer is lost',
};
