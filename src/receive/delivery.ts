import type { HostLimits } from '../host/host-limits.ts';

/**
 * One HTTP request, as an adapter passes it to a receiver. Only `body` and `signature` are required. The other fields
 * let the receiver answer other requests correctly.
 */
export interface Delivery {
  /** The raw bytes, or a function that reads them within limits. */
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
  /** Returns the value of any other header. Its name is in lower case. hookbox reads the trace context with it. */
  readonly header?: (name: string) => string | null | undefined;
  /** Returns the sender's address, for operators. Called only for a rejected delivery. */
  readonly source?: () => string | null | undefined;
  /** Limits of a serverless host. A server leaves it out. */
  readonly host?: HostLimits;
}

/** Reads a body that is still arriving. It resolves when a limit is reached, and never rejects. */
export type BodyReader = (limits: BodyLimits) => Promise<BodyRead>;

/** The limits that a body reader keeps. */
export interface BodyLimits {
  /** Stop when the body has more bytes than this. */
  readonly maxBytes: number;
  /** Stop when this promise resolves. Its value becomes `ended` in the result. */
  readonly late: Promise<'too-slow' | 'no-room'>;
  /** The buffer for the bytes that arrive. Memory outside the buffer is not counted until the body is complete. */
  readonly buffer: BodyBuffer;
}

/** Collects a body in memory that counts towards `maxReadingBytes`. */
export interface BodyBuffer {
  /** Checks the length that `Content-Length` announces. It reserves no memory. `null` means: continue to read. */
  expect(bytes: number): 'too-large' | null;
  /** Copies the next bytes. `null` means: continue to read. Any other value becomes `ended` in the result. */
  add(chunk: Uint8Array): 'too-large' | 'in-crumbs' | 'no-room' | null;
  /** Returns the complete body. */
  bytes(): Uint8Array;
}

/** The result of reading a body. */
export type BodyRead =
  /**
   * `doubt` is set if the host may have changed the bytes. If the signature then does not match, the answer says what
   * to change.
   */
  | { readonly ended: 'complete'; readonly bytes: Uint8Array; readonly doubt?: string }
  /**
   * `in-crumbs`: thousands of chunks of a few bytes. `no-room`: other bodies use the memory. `not-base64`: the host
   * says base64, but it is not.
   */
  | { readonly ended: 'too-large' | 'in-crumbs' | 'too-slow' | 'no-room' | 'aborted' | 'not-base64' }
  /** Other code has already read the raw bytes. `fix` says how to keep them. */
  | { readonly ended: 'consumed'; readonly fix?: string };
