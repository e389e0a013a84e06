import type { AnyInbox } from '../inbox/contract.ts';
import type { CountSpan } from '../inbox/operator/counts.ts';
import type { Marks } from '../inbox/operator/marks.ts';
import { type Mark, deployments } from '../inbox/rules/marks.ts';
import { oneLine } from '../printable.ts';
import { Sums, type Percentiles, type Stats } from './stats.ts';
import { operationsOf } from './operations-of.ts';
import { age, latency, listed, number, percent, plural } from './words/format.ts';

export interface Changes {
  readonly marks: readonly Mark[];
  readonly types: readonly TypeChange[];
  /** the compared spans, in words */
  readonly spans: string;
  readonly release: SinceRelease | null;
  readonly isReleaseUnnamed: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Compares the results of handlers since the newest release of a span (or else the newest secret; or else in the span)
 * with the time before, which is as long as the span.
 *
 * @param label - the length of the span in words
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
  // A new secret does not change the results of handlers.
  const newest = marks.findLast(({ kind }) => kind === 'release') ?? marks.at(-1);
  // Counts are per minute.
  const at = newest === undefined ? since.getTime() : Math.floor(newest.at.getTime() / MINUTE_MS) * MINUTE_MS;
  const before = { since: at - length, until: at };
  const hourAgo = Math.floor((now.getTime() - HOUR_MS) / MINUTE_MS) * MINUTE_MS;
  const requested = [
    before,
    ...(newest === undefined ? [] : [{ since: at, until: until.getTime() }]),
    ...(newest?.kind === 'release' && at < hourAgo ? [{ since: hourAgo, until: until.getTime() }] : []),
  ];
  const [[earlier = counted, later = counted, lately = null], isReleaseNamed] = await Promise.all([
    typesIn(inbox, requested),
    hasRelease(operations, marks),
  ]);
  const spans =
    newest === undefined
      ? `in this period, compared with the ${label} before it`
      : `since ${markInWords(newest)} ${age(now.getTime() - newest.at.getTime())} ago, compared with the ${label} ` +
        'before that';
  const release = newest?.kind === 'release' ? { name: newest.name, at: newest.at, before: label, lately } : null;
  return { marks, types: typeChanges(earlier, later), spans, release, isReleaseUnnamed: !isReleaseNamed };
}

/** The newest marks may all be secrets. */
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

interface TypeFigures {
  readonly ended: number;
  readonly failed: number;
  readonly dead: number;
  /** failed and dead as a share of all ended runs; `null` without any */
  readonly failedPart: number | null;
  readonly handlerMs: Percentiles;
}

export interface TypeChange {
  readonly type: string;
  readonly before: TypeFigures;
  readonly after: TypeFigures;
}

const UNMEASURED: Percentiles = { count: 0, p50: null, p90: null, p99: null, max: null };

type TypesCounted = Pick<Stats, 'byType' | 'handlerMsByType'>;

export interface SinceRelease {
  readonly name: string;
  readonly at: Date;
  readonly before: string;
  /** `null` if the release began within the last hour */
  readonly lately: TypesCounted | null;
}

async function typesIn(inbox: AnyInbox, spans: readonly CountSpan[]): Promise<readonly TypesCounted[]> {
  const counted = await operationsOf(inbox).totalsIn(spans);
  return counted.map((totals) => {
    const sums = new Sums();
    for (const total of totals) sums.add(total);
    return { byType: sums.byType(), handlerMsByType: sums.msByType() };
  });
}

function typeChanges(then: TypesCounted, now: TypesCounted): readonly TypeChange[] {
  const types = new Set([...Object.keys(then.byType), ...Object.keys(now.byType)]);
  return Array.from(types, (type) => ({ type, before: figuresOf(then, type), after: figuresOf(now, type) }))
    .filter(({ type, before, after }) => type !== 'invalid' && before.ended + after.ended > 0)
    .toSorted(
      (one, other) => worseBy(other) - worseBy(one) || bad(other) - bad(one) || other.after.ended - one.after.ended,
    );
}

function figuresOf({ byType, handlerMsByType }: TypesCounted, type: string): TypeFigures {
  const { processed = 0, superseded = 0, failed = 0, dead = 0 } = byType[type] ?? {};
  const ended = Math.max(processed - superseded, 0) + failed + dead;
  return {
    ended,
    failed,
    dead,
    failedPart: ended === 0 ? null : (failed + dead) / ended,
    handlerMs: handlerMsByType[type] ?? UNMEASURED,
  };
}

function bad({ after: { failed, dead } }: TypeChange): number {
  return failed + dead;
}

function worseBy(change: TypeChange): number {
  const { after, before } = change;
  if (comparisonOf(change).failures !== 'worse') return 0;
  return Math.round(((after.failedPart ?? 0) - (before.failedPart ?? 0)) * 100);
}

export type Comparison = 'worse' | 'not worse' | 'too few';

const LEAST_RUNS = 10;
/** Fewer failures may be chance. */
const LEAST_FAILURES = 3;

/** Worse means at least twice the share of failures, or at least twice the median duration. */
export function comparisonOf(change: TypeChange): { readonly failures: Comparison; readonly durations: Comparison } {
  const { before, after } = change;
  const [then, now] = [before.handlerMs, after.handlerMs];
  const part = after.failedPart ?? 0;
  const failsMore = bad(change) >= LEAST_FAILURES && part >= 0.02 && part >= 2 * (before.failedPart ?? 0);
  const takesLonger = then.p50 !== null && now.p50 !== null && now.p50 >= 20 && now.p50 >= 2 * then.p50;
  return {
    failures: compared(Math.min(before.ended, after.ended), failsMore),
    durations: compared(Math.min(then.count, now.count), takesLonger),
  };
}

function compared(runs: number, isWorse: boolean): Comparison {
  if (runs < LEAST_RUNS) return 'too few';
  return isWorse ? 'worse' : 'not worse';
}

const MOST_OF_NAME = 40;
const MOST_OF_TYPE = 60;

export function markInWords({ kind, name, endpoint }: Mark): string {
  const where = endpoint === '*' || endpoint === 'default' ? '' : ` at ${oneLine(endpoint, MOST_OF_NAME)}`;
  if (kind === 'release') return `release ${oneLine(name, MOST_OF_NAME)} began${where}`;
  return name === 'default'
    ? 'a new secret is in use'
    : `a new secret for endpoint ${oneLine(name, MOST_OF_NAME)} is in use`;
}

export function failedPart({ failedPart: part }: TypeFigures): string {
  return part === null ? '–' : percent(part);
}

export function verdict(changes: readonly TypeChange[]): string {
  if (changes.length > 0 && changes.every(({ before }) => before.ended === 0))
    return 'No earlier runs to compare with.';
  const named = (change: TypeChange, figure: (figures: TypeFigures) => string): string =>
    `${oneLine(change.type, MOST_OF_TYPE)} (${figure(change.after)}, previously ${figure(change.before)})`;
  const worse = failingMore(changes).map((change) => named(change, failedPart));
  const slower = changes
    .filter((change) => comparisonOf(change).durations === 'worse')
    .map((change) => named(change, ({ handlerMs }) => latency(handlerMs.p50)));
  const few = changes.filter((change) => comparisonOf(change).failures === 'too few').length;
  const isNone = worse.length === 0 && slower.length === 0 && few < changes.length;
  const said = [
    worse.length > 0 && `Failed more often: ${listed(worse)}.`,
    slower.length > 0 && `Took longer: ${listed(slower)}.`,
    isNone && 'No type failed more often or took longer than before.',
    few > 0 &&
      `Too few runs to compare${few === changes.length ? '' : ` ${plural(few, 'type')}`}: ` +
        `a comparison needs at least ${number(LEAST_RUNS)} runs in each period.`,
  ];
  return said.filter((sentence) => sentence !== false).join(' ');
}

export function failingMore(changes: readonly TypeChange[]): readonly TypeChange[] {
  return changes.filter((change) => comparisonOf(change).failures === 'worse');
}

export function brokenInWords({ type, before, after }: TypeChange, release: SinceRelease): string {
  const failed = `${failedPart(after)} of its runs have failed since release ${oneLine(release.name, MOST_OF_NAME)}`;
  const then = `${failedPart(before)} failed in the ${release.before} before`;
  return `${oneLine(type, MOST_OF_TYPE)}: ${failed}; ${then}${latelyInWords(type, release)}.`;
}

function latelyInWords(type: string, { lately }: SinceRelease): string {
  if (lately === null) return '';
  const figures = figuresOf(lately, type);
  if (figures.ended === 0) return '; in the last hour, no handler ran';
  return `; in the last hour, ${figures.failedPart === 0 ? 'none' : failedPart(figures)} failed`;
}
