import type { AnyInbox } from '../inbox/contract.ts';
import type { DeadGroup, EventFilter, EventSummary } from '../inbox/operator/search.ts';
import { addNames, sumsOf } from '../inbox/rules/counted.ts';
import { retryPrintOf } from '../inbox/rules/error-groups.ts';
import { deployments, type Mark } from '../inbox/rules/marks.ts';
import { deadGroups } from './find.ts';
import { operationsOf } from './operations-of.ts';

/** Dead events that have one property in common. */
export interface DeadLine {
  readonly key: string;
  /** the type or the release; `null` for events without one, and in a line of an error */
  readonly name: string | null;
  /** the filter that finds these events */
  readonly filter: EventFilter;
  readonly count: number;
  readonly more: boolean;
  readonly firstDeadAt: Date;
  readonly lastDeadAt: Date;
  /** most frequent first */
  readonly types: readonly string[];
  /** the releases that ran from the first death to the last; newest first */
  readonly releases: readonly string[];
  /** the number of their different errors; `null` in a line of one error */
  readonly errors: number | null;
  readonly recent: readonly number[];
  readonly newest: EventSummary;
  readonly group: DeadGroup | null;
}

export const deadGroupings = ['error', 'type', 'release'] as const;

export type DeadGrouping = (typeof deadGroupings)[number];

const LOOKED_AT_ONCE = 500;
const MOST_LOOKED_AT = 5_000;
const HOURS = 24;
const HOUR_MS = 3_600_000;

/** By error, all dead events; by type or release, the 5,000 that became dead last. */
export async function deadLines(inbox: AnyInbox, by: DeadGrouping, now = Date.now()): Promise<readonly DeadLine[]> {
  const operations = operationsOf(inbox);
  const marks = deployments(await operations.marks(0, Number.MAX_SAFE_INTEGER)).filter(
    ({ kind }) => kind === 'release',
  );
  if (by === 'error') return (await deadGroups(inbox, now)).map((group) => lineOfGroup(group, marks));
  const events: EventSummary[] = [];
  let place: { readonly before: number | null; readonly beforeAt?: Date } = { before: null };
  do {
    const page = await operations.search({ states: ['dead'] }, { ...place, limit: LOOKED_AT_ONCE, order: 'failed' });
    events.push(...page.events);
    place = { before: page.next, ...(page.nextAt !== undefined && { beforeAt: page.nextAt }) };
  } while (place.before !== null && events.length < MOST_LOOKED_AT);
  return linesOf(by, events, { marks, more: place.before !== null, now });
}

function lineOfGroup(group: DeadGroup, marks: readonly Mark[]): DeadLine {
  const { fingerprint, count, more, firstDeadAt, lastDeadAt, types, recent, newest } = group;
  const names = Object.entries(types).toSorted(([, one], [, other]) => other - one);
  return {
    key: fingerprint,
    name: null,
    count,
    more,
    firstDeadAt,
    lastDeadAt,
    recent,
    newest,
    errors: null,
    group,
    filter: { states: ['dead'], fingerprint },
    types: names.map(([type]) => type),
    releases: releasesBetween(marks, newest.endpoint, firstDeadAt, lastDeadAt),
  };
}

/** @param marks - of releases, oldest first */
function releaseAt(marks: readonly Mark[], endpoint: string, at: Date): Mark | undefined {
  return marks.findLast((mark) => isOf(mark, endpoint) && mark.at <= at);
}

/** The newest first. */
function releasesBetween(marks: readonly Mark[], endpoint: string, from: Date, until: Date): readonly string[] {
  const first = releaseAt(marks, endpoint, from);
  const later = marks.filter((mark) => isOf(mark, endpoint) && mark.at > from && mark.at <= until);
  return namesOf([first, ...later].toReversed());
}

/** Empty if no release is known. */
function namesOf(marks: readonly (Mark | undefined)[]): readonly string[] {
  return marks.some(Boolean) ? [...new Set(marks.map((mark) => mark?.name ?? 'unknown'))] : [];
}

function isOf(mark: Mark, endpoint: string): boolean {
  return mark.endpoint === '*' || mark.endpoint === endpoint;
}

/** @param events - most recently dead first */
export function linesOf(
  by: Exclude<DeadGrouping, 'error'>,
  events: readonly EventSummary[],
  { marks, more, now }: { readonly marks: readonly Mark[]; readonly more: boolean; readonly now: number },
): readonly DeadLine[] {
  const releaseOf = ({ endpoint, settledAt }: EventSummary): Mark | undefined =>
    settledAt === null ? undefined : releaseAt(marks, endpoint, settledAt);
  const keyOf = (event: EventSummary): string => {
    const mark = releaseOf(event);
    return by === 'type' ? JSON.stringify(event.type) : `${mark?.at.getTime() ?? 0} ${mark?.endpoint ?? ''}`;
  };
  const grouped = Map.groupBy(events, keyOf);
  const lines = Array.from(grouped, ([key, of]): DeadLine | null => {
    const newest = of[0];
    const [lastDeadAt, firstDeadAt] = [newest?.settledAt, of.at(-1)?.settledAt];
    if (newest === undefined || !lastDeadAt || !firstDeadAt) return null;
    const mark = releaseOf(newest);
    const counted = addNames(sumsOf(), ...of.map(({ type }) => type ?? 'invalid'));
    const recent = Array.from({ length: HOURS }, () => 0);
    for (const { settledAt } of of) {
      const hour = HOURS - 1 - Math.floor((now - (settledAt?.getTime() ?? 0)) / HOUR_MS);
      if (hour >= 0 && hour < HOURS) recent[hour] = (recent[hour] ?? 0) + 1;
    }
    return {
      key,
      count: of.length,
      more,
      firstDeadAt,
      lastDeadAt,
      recent,
      newest,
      group: null,
      name: by === 'type' ? newest.type : (mark?.name ?? null),
      filter: { states: ['dead'], ...(by === 'type' ? typeFilter(newest.type) : spanOf(mark, marks)) },
      types: [...counted].toSorted(([, one], [, other]) => other - one).map(([type]) => type),
      releases: namesOf(of.map(releaseOf)),
      errors: new Set(of.map(({ fingerprint, lastError }) => fingerprint ?? retryPrintOf(lastError))).size,
    };
  });
  return lines.filter((line) => line !== null).toSorted((one, other) => other.count - one.count);
}

function typeFilter(type: string | null): EventFilter {
  return type === null ? { deadReasons: ['invalid'] } : { types: [type] };
}

/** From the start of a release to the start of the next. */
function spanOf(mark: Mark | undefined, marks: readonly Mark[]): EventFilter {
  const [first] = marks;
  if (mark === undefined) return first === undefined ? {} : { failedUntil: first.at };
  const next = marks.find(({ at, endpoint }) => at > mark.at && (endpoint === '*' || endpoint === mark.endpoint));
  return {
    failedSince: mark.at,
    ...(next !== undefined && { failedUntil: next.at }),
    ...(mark.endpoint !== '*' && { endpoint: mark.endpoint }),
  };
}
