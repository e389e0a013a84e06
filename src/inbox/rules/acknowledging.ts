import { ConfigurationError } from '../../errors.ts';

/** An operator's acknowledgement of a group of dead events. */
export interface Acknowledgement {
  readonly at: Date;
  readonly actor: string;
  /** What the operator knows about the group. */
  readonly reason: string | null;
  /** A link to a runbook or a ticket. */
  readonly link: string | null;
  /** The number of events in the group at that time, counted up to a limit. */
  readonly count: number;
}

/** The dead events of a group, counted up to a limit. Times are those of the inbox's clock. */
export interface GroupSize {
  readonly count: number;
  /** the last time at which an event of the group became dead */
  readonly lastMs: number;
}

export interface StoredAcknowledgement extends GroupSize, Pick<Acknowledgement, 'actor' | 'reason' | 'link'> {
  readonly atMs: number;
}

/**
 * A group reopens when an event of it becomes dead after the last acknowledged one. So a rerun that fails reopens it, but
 * a rerun that succeeds or a prune does not. After an import, or with a clock that was set back, the newest dead event may
 * be older than the acknowledgement, so a larger count also reopens the group.
 */
export function isOpen(group: GroupSize, known: GroupSize | null): boolean {
  return known === null || group.lastMs > known.lastMs || group.count > known.count;
}

/** The result of an acknowledgement. */
export type AcknowledgeResult =
  /** The group is acknowledged. An earlier acknowledgement was replaced. */
  | 'done'
  /** The group has no dead event. */
  | 'unknown'
  /** The group has more events than `count`. Nothing was changed. */
  | 'changed';

/** @param shown - the number of events that its operator saw; `null` to acknowledge all */
export function planAcknowledge(
  group: GroupSize | null,
  shown: number | null,
  link: string | null,
  { now: atMs, actor, reason }: Pick<Acknowledgement, 'actor' | 'reason'> & { readonly now: number },
): { readonly result: AcknowledgeResult; readonly known: StoredAcknowledgement | null } {
  if (group === null) return { result: 'unknown', known: null };
  if (shown !== null && group.count > shown) return { result: 'changed', known: null };
  return { result: 'done', known: { ...group, atMs, actor, reason, link } };
}

const LONGEST_LINK = 1_000;

/** @throws ConfigurationError `INVALID_OPTION` unless it is a web address; a browser would run a script in another one */
export function webLink(link: string | undefined): string | null {
  if (link === undefined) return null;
  const url = typeof link === 'string' && URL.canParse(link) ? new URL(link) : null;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url !== null && isWeb && url.href.length <= LONGEST_LINK) return url.href;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `link must begin with https:// or http:// and have at most ${LONGEST_LINK} characters.`,
  );
}
