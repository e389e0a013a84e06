/** What the cases of the conformance suite ask of a receiver, wherever it runs: plain data in, plain data out. */
import type { InboxUnavailableError, StoredEvent } from '../../src/index.ts';
import type { LogLine } from '../helpers/recorded-log.ts';

/** How a receiver is made. Whatever is not given is the default of hookbox, with an empty inbox in memory. */
export interface ReceiverSetup {
  readonly secret?: SecretSetup;
  readonly unsafeUnsigned?: true;
  readonly maxBodyBytes?: number;
  readonly deadlineMs?: number;
  readonly inbox?: InboxSetup;
  /** runs this handler inline for every event */
  readonly handler?: HandlerSetup;
  /** something on the way to the adapter reads the raw body and throws it away */
  readonly bodyReadBefore?: true;
}

/** Secrets given as they are, or by a function that `takesMs` or fails with a message. */
export type SecretSetup = readonly string[] | { readonly of: readonly string[]; readonly takesMs: number } | Failure;

export interface Failure {
  readonly failsWith: string;
}

/** An inbox with a fault in `accept` that `heal` takes away, or one in a file. */
export type InboxSetup =
  | (Failure & { readonly code: InboxUnavailableError['code'] | 'UNFORESEEN' })
  | { readonly hangs: true }
  | { readonly takesMs: number }
  | { readonly file: string; readonly thread?: boolean };

/** A handler that throws, or does not end, until `heal`. */
export type HandlerSetup = 'succeeds' | 'throws' | 'waits';

/** What may be asked of a receiver while it serves. */
export interface Controls {
  /** in the order of arrival */
  events(): Promise<readonly SeenEvent[]>;
  log(): Promise<readonly LogLine[]>;
  tally(): Promise<Tally>;
  /** Takes the fault of the inbox or of the handler away. */
  heal(): Promise<void>;
  /** Resolves when the receiver is closed; it can still be asked about what it stored. */
  closeReceiver(): Promise<void>;
  /** Lets go of everything. */
  dispose(): Promise<void>;
}

/** A stored event, its bytes in base64. */
export interface SeenEvent extends Pick<StoredEvent, 'endpoint' | 'id' | 'type' | 'verified' | 'state' | 'deadReason'> {
  readonly body: string | null;
  /** how often it was redelivered */
  readonly redeliveries: number;
  /** the newest of the other bodies that came under its id */
  readonly conflict: string | null;
}

export interface Tally {
  /** how many deliveries the adapter has handed over, whatever became of them */
  readonly deliveries: number;
  /** of each: the headers `traceparent` and `tracestate`, as the adapter has handed them over; `null` for none */
  readonly traces: readonly (readonly [parent: string | null, state: string | null])[];
  readonly handlerRuns: number;
  /** what no body may ever add anything to */
  readonly prototypeKeys: readonly string[];
}
