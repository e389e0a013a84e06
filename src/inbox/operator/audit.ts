import type { EventKey } from '../event.ts';
import type { By } from './acts.ts';
import type { PageRequest } from './filter.ts';

/** One action of an operator. */
export interface AuditLine {
  readonly seq: number;
  readonly at: Date;
  readonly actor: string;
  readonly via: 'code' | 'cli' | 'page';
  /**
   * rerun, discard or retry now; resume or cancel (of a bulk action); pause or resume (of a type); prune, erase,
   * import, export or backup.
   */
  readonly act: string;
  readonly reason: string | null;
  /**
   * The target as JSON: a filter, ids or a file. For actions on events, this is `{ endpoint, ids }`, or `{ events }`
   * with a list of such objects. For a bulk action, this is `{ bulk, filter, total }`. For a forced action, this also
   * contains `force: true`.
   */
  readonly filter: unknown;
  /** The number of events by result. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Conditions for audit lines. A line must match all of these conditions. */
export interface AuditFilter {
  /** The exact name of the operator. */
  readonly actor?: string;
  /** Only actions at or after this time. */
  readonly since?: Date;
  /** Only actions before this time. */
  readonly until?: Date;
}

/** One page of the audit. */
export interface AuditPage {
  /** Newest first. */
  readonly lines: readonly AuditLine[];
  /**
   * Pass this value as `before` to get the next page. `null` on the last page. With a filter, hookbox examines at most
   * 5,000 lines for each page, so even a page without lines may have a `next`.
   */
  readonly next: number | null;
}

/** An operator's action on one event. */
export interface EventAct extends Pick<AuditLine, 'actor' | 'via' | 'reason'> {
  /** When the operator acted on this event. */
  readonly at: Date;
  /** rerun, discard, retry now or erase. */
  readonly act: string;
  /** The `seq` of the audit line. */
  readonly audit: number;
  /** The id of the bulk action that the action was part of. */
  readonly bulk: number | null;
}

export interface Audit {
  /** Writes an audit line. Actions that change events write their audit line in the same transaction as the change. */
  note(act: string, by: By, filter: unknown, counts: Readonly<Record<string, number>>): Promise<number>;
  /** Replaces the counts of an audit line. Does nothing if the line does not exist. */
  recount(seq: number, counts: Readonly<Record<string, number>>): Promise<void>;
  /** Lists audit lines, newest first. */
  lines(request: PageRequest & AuditFilter): Promise<AuditPage>;
  /** Returns the 500 most recent actions of operators on one event, oldest first. */
  actsOn(key: EventKey): Promise<readonly EventAct[]>;
}
