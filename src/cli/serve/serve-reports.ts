import type { Issue } from '../../events/webhook-event.ts';

/** What `serve` reports, a line each; as NDJSON they are printed as they are, but for the decimals of `ms`. */
export type ServeReport = DeliveryReport | AttemptReport | ForwardReport;

/** A delivery was answered. */
export interface DeliveryReport {
  readonly kind: 'delivery';
  readonly at: Date;
  readonly status: number;
  /** `stored`, `duplicate`, `rejected` or `unavailable` */
  readonly outcome: string;
  readonly type: string | null;
  readonly id: string | null;
  readonly ms: number;
  /** why it was not accepted */
  readonly reason: string | null;
  /** it has another body than the one that is stored under its id */
  readonly conflict: boolean;
  /** authentic, but it fits no schema: stored as dead */
  readonly invalid: boolean;
  /** what does not fit first, where it is invalid: the path of a field, and why, without its value */
  readonly issue: Issue | null;
  /** it was stored, and none of the handlers takes its type */
  readonly unhandled: boolean;
}

/** A handler has run. */
export interface AttemptReport {
  readonly kind: 'attempt';
  readonly at: Date;
  /** `lost`: its lease ran out, and it runs again */
  readonly outcome: 'processed' | 'failed' | 'dead' | 'interrupted' | 'lost';
  readonly type: string | null;
  readonly id: string;
  readonly attempt: number;
  readonly ms: number;
  /** what the handler threw; on `processed`, after its transaction was committed */
  readonly error: string | null;
  readonly stack: string | null;
  /** when a failed one runs again */
  readonly againAt: Date | null;
}

/** A delivery was sent on, or left out. */
export interface ForwardReport {
  readonly kind: 'forward';
  readonly at: Date;
  readonly status: number | null;
  readonly type: string | null;
  readonly id: string;
  readonly ms: number;
  readonly to: string;
  /** the beginning of what was answered */
  readonly answer: string | null;
  /** why there was no answer, or why it was not sent */
  readonly problem: string | null;
}
