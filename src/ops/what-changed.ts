import type { AnyInbox } from '../inbox/contract.ts';
import type { Marks } from '../inbox/operator/marks.ts';
import type { Mark } from '../inbox/rules/marks.ts';
import { deployments } from '../inbox/rules/marks.ts';
import { operationsOf } from './operations-of.ts';
import type { Stats } from './stats.ts';
import { typeChanges, typesIn, type SinceRelease, type TypeChange, type TypesCounted } from './type-changes.ts';
import { age } from './words/format.ts';
import { markInWords } from './words/change-words.ts';

/** What began in a span, and how handlers have done since. */
export interface Changes {
  readonly marks: readonly Mark[];
  readonly types: readonly TypeChange[];
  /** which spans are beside one another, in words */
  readonly spans: string;
  /** the release that the later span begins with; `null` where it begins otherwise */
  readonly release: SinceRelease | null;
  /** no release was ever named, so none can begin a span */
  readonly isReleaseUnnamed: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * How handlers have done since the newest release of a span, beside as long before that as the span is; without one since the
 * newest secret, and without that, too, the span beside the one before.
 *
 * @param counted - the span, and what was counted in it
 * @param label - how long the span is, in words
 */
export async function changesOf(
  inbox: AnyInbox,
  counted: Pick<Stats, 'since' | 'until'> & TypesCounted,
  label: string,
  now: Date,
): Promise<Changes> {
  const { since, until } = counted;
  const operations = operationsOf(inbox);
  const marks = deployments(await operations.marks(since.getTime(), until.getTime()));
  const length = until.getTime() - since.getTime();
  // A secret decides what is received, and not how a handler does: it hides no release that it came after.
  const newest = marks.findLast(({ kind }) => kind === 'release') ?? marks.at(-1);
  // Counts are by the minute: the one that it began in is already its own.
  const at = newest === undefined ? since.getTime() : Math.floor(newest.at.getTime() / MINUTE_MS) * MINUTE_MS;
  const before = { since: at - length, until: at };
  // Without a mark the later span was counted already.
  const hourAgo = Math.floor((now.getTime() - HOUR_MS) / MINUTE_MS) * MINUTE_MS;
  const asked = [
    before,
    ...(newest === undefined ? [] : [{ since: at, until: until.getTime() }]),
    ...(newest?.kind === 'release' && at < hourAgo ? [{ since: hourAgo, until: until.getTime() }] : []),
  ];
  const [[earlier = counted, later = counted, lately = null], isReleaseNamed] = await Promise.all([
    typesIn(inbox, asked),
    hasRelease(operations, marks),
  ]);
  const spans =
    newest === undefined
      ? `in this period, compared with the ${label} before it`
      : `since ${markInWords(newest)} ${age(now.getTime() - newest.at.getTime())} ago, compared with the ${label} ` +
        'before that';
  const release = newest?.kind === 'release' ? { name: newest.name, at: newest.at, before: label, lately } : null;
  const types = typeChanges(earlier, later);
  return { marks, types, spans, release, isReleaseUnnamed: !isReleaseNamed };
}

/** Marks come in pages, and the newest may all be of secrets; so few are kept that all of them can be looked through. */
async function hasRelease(operations: Marks, shown: readonly Mark[]): Promise<boolean> {
  let marks = shown;
  for (let until = Number.MAX_SAFE_INTEGER; !marks.some(({ kind }) => kind === 'release');) {
    marks = await operations.marks(0, until);
    const [oldest] = marks;
    if (oldest === undefined) return false;
    until = oldest.at.getTime();
  }
  return true;
}
