import type { HostLimits } from '../host/host-limits.ts';

/**
 * One HTTP request from the service, as an adapter hands it in. Only `body` and `signature` are needed; the rest lets
 * the receiver give the right answer to requests that are no deliveries.
 */
export interface Delivery {
  /** the raw bytes, or a way to read them within limits */
  readonly body: Uint8Array | BodyReader;
  /** the value of the header `X-Signature` */
  readonly signature: string | null | undefined;
  /** the HTTP method; POST when left out */
  readonly method?: string | undefined;
  /** the value of the header `Content-Encoding` */
  readonly contentEncoding?: string | null | undefined;
  /** any other header, by its name in lower case: asked for the trace that a delivery belongs to */
  readonly header?: (name: string) => string | null | undefined;
  /** asked only when the delivery is refused: the address it came from, for operators */
  readonly source?: () => string | null | undefined;
  /** what the host of a function allows; a server has no need of it */
  readonly host?: HostLimits;
}

/** Reads a body that is still arriving. Settles by itself when a limit is reached; never rejects. */
export type BodyReader = (limits: BodyLimits) => Promise<BodyRead>;

export interface BodyLimits {
  /** stop when one byte more than this has arrived */
  readonly maxBytes: number;
  /** stop when this resolves: with what it then `ended` by */
  readonly late: Promise<'too-slow' | 'no-room'>;
  /** where to put what arrives: what a reader keeps beside it is not counted before the body is complete */
  readonly buffer: BodyBuffer;
}

/** Puts a body together in memory that is counted (`maxReadingBytes`). */
export interface BodyBuffer {
  /** Says what `Content-Length` has announced, where there is one: nothing is put aside for it. `null`: read on. */
  expect(bytes: number): 'too-large' | null;
  /** Copies what has arrived. `null`: read on; else what the reading has `ended` by. */
  add(chunk: Uint8Array): 'too-large' | 'in-crumbs' | 'no-room' | null;
  /** All that was added, once it is complete. */
  bytes(): Uint8Array;
}

export type BodyRead =
  /** with a `doubt`, they may not be all that was sent: should the signature not match, it says what to change */
  | { readonly ended: 'complete'; readonly bytes: Uint8Array; readonly doubt?: string }
  /**
   * `in-crumbs`: in thousands of chunks of a few bytes. `no-room`: too much of other bodies is arriving. `not-base64`: the
   * host has said that it is base64, and it is not
   */
  | { readonly ended: 'too-large' | 'in-crumbs' | 'too-slow' | 'no-room' | 'aborted' | 'not-base64' }
  /** something else has read the raw bytes before, and they are gone; `fix` says how the merchant keeps them */
  | { readonly ended: 'consumed'; readonly fix?: string };
