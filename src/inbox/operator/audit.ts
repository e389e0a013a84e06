import type { EventKey } from '../event.ts';
import type { By } from './acts.ts';
import type { PageRequest } from './filter.ts';

/** One act of an operator. */
export interface AuditLine {
  readonly seq: number;
  readonly at: Date;
  readonly actor: string;
  readonly via: 'code' | 'cli' | 'page';
  /** rerun, discard, retry-now, resume, cancel (both of a bulk), pause, resume (of a type), prune, erase, import, export, backup */
  readonly act: string;
  readonly reason: string | null;
  /**
   * what it was about: the filter, the ids, or the file; as it reads in JSON. Of acts on events it is `{ endpoint, ids }`,
   * or `{ events }` with a list of these; of a bulk `{ bulk, filter, total }`; `force: true` where it was forced
   */
  readonly filter: unknown;
  /** how many of what */
  readonly counts: Readonly<Record<string, number>>;
}

/** Which lines are meant; all that is given has to fit. */
export interface AuditFilter {
  /** by exactly this one */
  readonly actor?: string;
  /** done then or later */
  readonly since?: Date;
  /** done before then */
  readonly until?: Date;
}

export interface AuditPage {
  /** newest first */
  readonly lines: readonly AuditLine[];
  /**
   * where to go on; `null` at the end. Of a filter five thousand lines are looked at for a page, so that one with few lines, or
   * none, may not be the last
   */
  readonly next: number | null;
}

/** An act of an operator on one event. */
export interface EventAct extends Pick<AuditLine, 'actor' | 'via' | 'reason'> {
  /** when it was done to this event */
  readonly at: Date;
  /** rerun, discard, retry-now or erase */
  readonly act: string;
  /** its line in the audit */
  readonly audit: number;
  /** the bulk that it was a part of */
  readonly bulk: number | null;
}

export interface Audit {
  /** Writes a line of its own; acts that change events write theirs in their own transaction. */
  note(act: string, by: By, filter: unknown, counts: Readonly<Record<string, number>>): Promise<number>;
  /** Replaces the counts of a line, as an act goes on; of one that there is not, nothing. */
  recount(seq: number, counts: Readonly<Record<string, number>>): Promise<void>;
  lines(request: PageRequest & AuditFilter): Promise<AuditPage>;
  /** What was done to one event, the oldest first; of more than 500 acts the newest. */
  actsOn(key: EventKey): Promise<readonly EventAct[]>;
}
