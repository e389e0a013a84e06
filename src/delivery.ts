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
}

/** Reads a body that is still arriving. Settles by itself when a limit is reached; never rejects. */
export type BodyReader = (limits: BodyLimits) => Promise<BodyRead>;

export interface BodyLimits {
  /** stop when one byte more than this has arrived */
  readonly maxBytes: number;
  /** stop when this resolves */
  readonly late: Promise<unknown>;
}

export type BodyRead =
  | { readonly ended: 'complete'; readonly bytes: Uint8Array }
  /** `consumed`: something else has read the raw bytes before, and they are gone */
  | { readonly ended: 'too-large' | 'too-slow' | 'aborted' | 'consumed' };
