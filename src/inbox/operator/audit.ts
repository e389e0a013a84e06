import type { EventKey } from '../event.ts';
import type { By } from './acts.ts';
import type { PageRequest } from './filter.ts';

/** One act of an operator. */
export interface AuditLine {
  readonly seq: number;
  readonly at: Date;
  readonly actor: string;
  readonly via: 'code' | 'cli' | 'page';
  /**
   * rerun, discard, retry now, resume, cancel (both of a bulk action), pause, resume (of a type), prune, erase, import,
   * export or backup.
   */
  readonly act: string;
  readonly reason: string | null;
  /**
   * The target as JSON: a filter, ids or a file. For acts on events it is `{ endpoint, ids }`, or `{ events }` with a
   * list of these. For a bulk action it is `{ bulk, filter, total }`. A forced act has `force: true`.
   */
  readonly filter: unknown;
  /** The number of events by result. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Conditions for audit lines. A line must match all of them. */
export interface AuditFilter {
  /** The exact name of the operator. */
  readonly actor?: string;
  /** Done at or after this time. */
  readonly since?: Date;
  /** Done before this time. */
  readonly until?: Date;
}

/** One page of the audit. */
export interface AuditPage {
  /** Newest first. */
  readonly lines: readonly AuditLine[];
  /**
   * Pass it as `before` for the next page. `null` at the end. With a filter a page examines 5,000 lines, so even a page
   * without lines may have a `next`.
   */
  readonly next: number | null;
}

/** An operator's act on one event. */
export interface EventAct extends Pick<AuditLine, 'actor' | 'via' | 'reason'> {
  /** When it was done to this event. */
  readonly at: Date;
  /** rerun, discard, retry now or erase. */
  readonly act: string;
  /** The `seq` of its audit line. */
  readonly audit: number;
  /** The bulk action that it was part of. */
  readonly bulk: number | null;
}

export interface Audit {
  /** Writes an audit line. Acts that change events write theirs in their own transaction. */
  note(act: string, by: By, filter: unknown, counts: Readonly<Record<string, number>>): Promise<number>;
  /** Replaces the counts of an audit line. Does nothing if the line does not exist. */
  recount(seq: number, counts: Readonly<Record<string, number>>): Promise<void>;
  /** Lists audit lines, newest first. */
  lines(request: PageRequest & AuditFilter): Promise<AuditPage>;
  /**
   * Returns operators' acts on one event, oldest first, and at most the newest 500.
   */
  actsOn(key: EventKey): Promise<readonly EventAct[]>;
}
