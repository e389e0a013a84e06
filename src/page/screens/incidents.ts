import type { Gauge } from '../../inbox/rules/counted.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import type { DeadGroup } from '../../inbox/operator/search.ts';
import type { IgnoredType } from '../../inbox/work.ts';
import type { SpanCounts, Stats } from '../../ops/stats.ts';
import { type Changes, failingMore, type SinceRelease, type TypeChange } from '../../ops/releases.ts';
import type { Warning } from '../../ops/health.ts';
import type { Waiters } from './stuck-events.ts';

/** A problem. The overview shows each in one line. */
export type Trouble =
  | { readonly what: 'dead'; readonly group: DeadGroup }
  /** `groups` is 0 for dead events that are in no group */
  | { readonly what: 'more dead'; readonly dead: Gauge; readonly groups: number }
  | { readonly what: 'alarm'; readonly warning: Warning }
  | { readonly what: 'release'; readonly change: TypeChange; readonly release: SinceRelease; readonly more: number }
  | { readonly what: 'blocked'; readonly blocked: Waiters; readonly more: boolean }
  | { readonly what: 'retries'; readonly retries: Waiters; readonly more: boolean }
  | { readonly what: 'ignored'; readonly type: IgnoredType }
  | { readonly what: 'paused'; readonly pause: Pause }
  | { readonly what: 'more paused'; readonly count: number };

/** Events are lost, are retried, or wait because an operator paused their type. */
export type Level = 'loss' | 'retry' | 'paused';
const LEVELS: readonly Level[] = ['loss', 'retry', 'paused'];

export interface Seen {
  readonly dead: Gauge;
  readonly groups: readonly DeadGroup[];
  readonly warnings: readonly Warning[];
  readonly changes: Pick<Changes, 'types' | 'release'>;
  readonly pauses: readonly Pause[];
  readonly ignored: readonly IgnoredType[];
  readonly stuck: { readonly blocked: Waiters; readonly retries: Waiters; readonly more: boolean };
}

const GROUPS_NAMED = 4;
const TYPES_NAMED = 3;
const PAUSES_NAMED = 3;

/** The worst first. */
export function troublesOf(seen: Seen): readonly Trouble[] {
  const { warnings, changes, pauses, ignored, stuck } = seen;
  const { blocked, retries, more } = stuck;
  const { release } = changes;
  const broken = release === null ? [] : failingMore(changes.types);
  const paused = pauses.toSorted((one, other) => other.waiting - one.waiting);
  const troubles: readonly Trouble[] = [
    ...deadOf(seen),
    ...warnings.map((warning) => ({ what: 'alarm', warning }) as const),
    ...broken.slice(0, TYPES_NAMED).flatMap((change, n): readonly Trouble[] => {
      const unnamed = n === TYPES_NAMED - 1 ? broken.length - TYPES_NAMED : 0;
      return release === null ? [] : [{ what: 'release', change, release, more: unnamed }];
    }),
    ...(blocked.waiting.length > 0 ? [{ what: 'blocked', blocked, more } as const] : []),
    ...(retries.waiting.length > 0 ? [{ what: 'retries', retries, more } as const] : []),
    ...ignored.slice(0, TYPES_NAMED).map((type) => ({ what: 'ignored', type }) as const),
    ...paused.slice(0, PAUSES_NAMED).map((pause) => ({ what: 'paused', pause }) as const),
    ...(paused.length > PAUSES_NAMED ? [{ what: 'more paused', count: paused.length - PAUSES_NAMED } as const] : []),
  ];
  return LEVELS.flatMap((level) => troubles.filter((trouble) => levelOf(trouble) === level));
}

function deadOf({ dead, groups }: Seen): readonly Trouble[] {
  if (groups.length === 0) return dead.count === 0 ? [] : [{ what: 'more dead', dead, groups: 0 }];
  const open = groups.filter((group) => group.open);
  const named = open.slice(0, open.length > GROUPS_NAMED + 1 ? GROUPS_NAMED : open.length);
  const others = open.slice(named.length);
  const more = {
    count: others.reduce((sum, { count }) => sum + count, 0),
    more: others.some((group) => group.more),
  };
  return [
    ...named.map((group) => ({ what: 'dead', group }) as const),
    ...(others.length > 0 ? [{ what: 'more dead', dead: more, groups: others.length } as const] : []),
  ];
}

export function levelOf(trouble: Trouble): Level {
  switch (trouble.what) {
    case 'dead':
    case 'more dead':
    case 'alarm':
      return 'loss';
    case 'release':
      return trouble.change.after.dead > 0 ? 'loss' : 'retry';
    case 'blocked':
    case 'retries':
    case 'ignored':
      return 'retry';
    case 'paused':
    case 'more paused':
      return 'paused';
  }
}

export interface Extent {
  readonly count: Gauge | null;
  readonly first: Date | null;
  readonly last: Date | null;
  /** the count of each hour of the last day, oldest first */
  readonly recent: readonly number[] | null;
}

const UNKNOWN: Extent = { count: null, first: null, last: null, recent: null };

/** @param day - the last 24 hours */
export function extentOf(
  trouble: Trouble,
  watched: Pick<Stats, 'traffic' | 'unhandled' | 'processing'>,
  day: SpanCounts,
): Extent {
  switch (trouble.what) {
    case 'dead': {
      const { count, more, firstDeadAt, lastDeadAt, recent } = trouble.group;
      return { count: { count, more }, first: firstDeadAt, last: lastDeadAt, recent };
    }
    case 'more dead':
      return { ...UNKNOWN, count: trouble.dead };
    case 'alarm':
      return alarmExtent(trouble.warning, watched, day);
    case 'release': {
      const { failed, dead } = trouble.change.after;
      return { ...UNKNOWN, count: exactly(failed + dead), first: trouble.release.at };
    }
    case 'blocked':
    case 'retries': {
      const { waiting } = trouble.what === 'blocked' ? trouble.blocked : trouble.retries;
      const count = { count: waiting.reduce((sum, one) => sum + one.count, 0), more: trouble.more };
      const received = waiting.map(({ oldest }) => oldest.receivedAt);
      const recent = trouble.what === 'retries' ? hourly(day, ({ failed }) => failed) : null;
      return { count, first: received[0] ?? null, last: received.at(-1) ?? null, recent };
    }
    case 'ignored':
      return { ...UNKNOWN, count: trouble.type };
    case 'paused': {
      const { waiting, more, since } = trouble.pause;
      return { ...UNKNOWN, count: { count: waiting, more }, first: since };
    }
    case 'more paused':
      return UNKNOWN;
  }
}

function alarmExtent(
  { alarm, endpoint, types }: Warning,
  { traffic, unhandled, processing }: Pick<Stats, 'traffic' | 'unhandled' | 'processing'>,
  day: SpanCounts,
): Extent {
  const lane = [traffic.all, ...traffic.endpoints].find((one) => one.endpoint === endpoint);
  switch (alarm) {
    case 'silent':
      return { ...UNKNOWN, first: lane?.lastReceived ?? null, recent: hourly(day, ({ stored }) => stored) };
    case 'rejecting': {
      const { lately = null } = lane ?? {};
      const count = lately === null ? null : exactly(lately.rejected);
      return { ...UNKNOWN, count, first: lately?.since ?? null, recent: hourly(day, ({ rejected }) => rejected) };
    }
    case 'no-processor': {
      const gone = processing.missing.find((one) => one.endpoint === endpoint);
      return { ...UNKNOWN, first: gone?.since ?? null };
    }
    case 'unhandled': {
      const waiting = unhandled.waiting.filter((one) => one.endpoint === endpoint && types.includes(one.type));
      const count = waiting.reduce((sum, one) => sum + one.count, 0);
      return { ...UNKNOWN, count: { count, more: waiting.some(({ more }) => more) }, first: waiting[0]?.since ?? null };
    }
    case 'database':
      return UNKNOWN;
  }
}

function exactly(count: number): Gauge {
  return { count, more: false };
}

const STEPS_OF_AN_HOUR = 2;

function hourly({ steps }: SpanCounts, figure: (step: SpanCounts['steps'][number]) => number): readonly number[] {
  const hours = Array.from({ length: Math.ceil(steps.length / STEPS_OF_AN_HOUR) }, () => 0);
  for (const [n, step] of steps.entries()) {
    const hour = Math.floor(n / STEPS_OF_AN_HOUR);
    hours[hour] = (hours[hour] ?? 0) + figure(step);
  }
  return hours;
}

/** When the oldest of these problems began, except pauses. */
export function beginningOf(extents: readonly Extent[]): Date | null {
  return extents
    .flatMap(({ first }) => first ?? [])
    .reduce<Date | null>((oldest, at) => (oldest === null || at < oldest ? at : oldest), null);
}
