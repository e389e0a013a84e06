import type { HostLimits } from '../host/host-limits.ts';

/** One HTTP request, as an adapter passes it to a receiver. Only `body` and `signature` are required. */
export interface Delivery {
  /** The raw bytes, or a function that reads the raw bytes within limits. */
  readonly body: Uint8Array | BodyReader;
  /** The value of the header `X-Signature`. */
  readonly signature: string | null | undefined;
  /**
   * The HTTP method.
   *
   * @defaultValue `'POST'`
   */
  readonly method?: string | undefined;
  /** The value of the header `Content-Encoding`. */
  readonly contentEncoding?: string | null | undefined;
  /** Returns the value of another header, by its lower-case name. hookbox reads the trace context with it. */
  readonly header?: (name: string) => string | null | undefined;
  /** Returns the sender's address, for operators. Called only for a rejected delivery. */
  readonly source?: () => string | null | undefined;
  /** The limits of a serverless host. Omit this field on a server. */
  readonly host?: HostLimits;
}

/** Reads a body that is still arriving, until it is complete or a limit is reached. The promise never rejects. */
export type BodyReader = (limits: BodyLimits) => Promise<BodyRead>;

/** The limits for a body reader. */
export interface BodyLimits {
  /** Stop reading when the body has more bytes than this. */
  readonly maxBytes: number;
  /** When this promise resolves, stop reading and return its value as `ended` in the result. */
  readonly late: Promise<'too-slow' | 'no-room'>;
  /** The buffer for the arriving bytes. Memory outside the buffer is not counted until the body is complete. */
  readonly buffer: BodyBuffer;
}

/** Collects a body in memory. The size of the buffer counts towards `maxReadingBytes`. */
export interface BodyBuffer {
  /** Checks the announced `Content-Length`. Reserves no memory. Returns `null` if you can continue to read. */
  expect(bytes: number): 'too-large' | null;
  /** Copies the next bytes. Returns `null` if you can continue; return any other value as `ended` in the result. */
  add(chunk: Uint8Array): 'too-large' | 'tiny-chunks' | 'no-room' | null;
  /** Returns the complete body. */
  bytes(): Uint8Array;
}

/** The result of reading a body. */
export type BodyRead =
  /** `mismatchFix`: the host may have changed the bytes. After a mismatch, the log shows this text. */
  | { readonly ended: 'complete'; readonly bytes: Uint8Array; readonly mismatchFix?: string }
  /**
   * `tiny-chunks`: thousands of chunks of a few bytes. `no-room`: other bodies use up the memory. `not-base64`: the host
   * flags the body as base64, but it is not.
   */
  | { readonly ended: 'too-large' | 'tiny-chunks' | 'too-slow' | 'no-room' | 'aborted' | 'not-base64' }
  /** Other code has already read the raw bytes. `fix` says how to keep the bytes. */
  | { readonly ended: 'consumed'; readonly fix?: string };
