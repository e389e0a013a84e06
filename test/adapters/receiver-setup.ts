/** Plain data, because the receiver may run elsewhere. */
import type { InboxUnavailableError, StoredEvent } from '../../src/index.ts';
import type { LogLine } from '../helpers/recorded-log.ts';

/** The defaults are those of hookbox, with an empty inbox in memory. */
export interface ReceiverSetup {
  readonly secret?: SecretSetup;
  readonly unsafeUnsigned?: true;
  readonly maxBodyBytes?: number;
  readonly deadlineMs?: number;
  readonly inbox?: InboxSetup;
  readonly handler?: HandlerSetup;
  /** Code before the adapter reads the raw body. */
  readonly bodyReadBefore?: true;
}

export type SecretSetup = readonly string[] | { readonly of: readonly string[]; readonly takesMs: number } | Failure;

export interface Failure {
  readonly failsWith: string;
}

/** `heal` ends the fault of `accept`. */
export type InboxSetup =
  | (Failure & { readonly code: InboxUnavailableError['code'] | 'UNFORESEEN' })
  | { readonly hangs: true }
  | { readonly takesMs: number }
  | { readonly file: string; readonly thread?: boolean };

export type HandlerSetup = 'succeeds' | 'throws' | 'waits';

export interface Controls {
  events(): Promise<readonly SeenEvent[]>;
  log(): Promise<readonly LogLine[]>;
  tally(): Promise<Tally>;
  /** Ends the fault of the inbox or of the handler. */
  heal(): Promise<void>;
  /** The inbox can still be asked. */
  closeReceiver(): Promise<void>;
  dispose(): Promise<void>;
}

/** Bytes are in base64. */
export interface SeenEvent extends Pick<StoredEvent, 'endpoint' | 'id' | 'type' | 'verified' | 'state' | 'deadReason'> {
  readonly body: string | null;
  readonly redeliveries: number;
  /** The newest other body under its id. */
  readonly conflict: string | null;
}

export interface Tally {
  /** Deliveries that the adapter passed on. */
  readonly deliveries: number;
  /** The headers `traceparent` and `tracestate` of each. */
  readonly traces: readonly (readonly [parent: string | null, state: string | null])[];
  readonly handlerRuns: number;
  /** No body may add to these. */
  readonly prototypeKeys: readonly string[];
}
