import type { Gauge } from '../../inbox/operator/counts.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import type { DeadGroup } from '../../inbox/operator/search.ts';
import type { SinceRelease, TypeChange } from '../../ops/type-changes.ts';
import type { Changes } from '../../ops/what-changed.ts';
import { failingMore } from '../../ops/words/change-words.ts';
import type { Warning } from '../../ops/words/watch-words.ts';
import type { Stuck, Waiters } from './stuck-events.ts';

/** Something that an operator should see to. */
export type Trouble =
  | { readonly what: 'dead'; readonly dead: Gauge; readonly groups: readonly DeadGroup[]; readonly since: Date | null }
  /** nothing comes, all is rejected, or nobody handles what came */
  | { readonly what: 'alarm'; readonly warning: Warning }
  /** what fails more often since a release, the worst first */
  | { readonly what: 'release'; readonly changes: readonly TypeChange[]; readonly release: SinceRelease }
  /** what waits and has not merely failed: what holds it up */
  | { readonly what: 'blocked'; readonly blocked: Waiters; readonly more: boolean }
  /** what an operator has paused, and events wait for */
  | { readonly what: 'paused'; readonly pause: Pause }
  /** what has failed, is tried again, and holds up nothing */
  | { readonly what: 'retries'; readonly retries: Waiters; readonly more: boolean };

export interface Seen {
  readonly dead: Gauge;
  /** the largest first */
  readonly groups: readonly DeadGroup[];
  /** the worst first */
  readonly warnings: readonly Warning[];
  readonly changes: Pick<Changes, 'types' | 'release'>;
  readonly pauses: readonly Pause[];
  readonly stuck: Stuck;
}

/** So many pauses are told of here, those that most events wait for. */
const PAUSES_TOLD = 5;

/** The pauses that there is to see to, as events wait for their end. */
export function pausesToTell(pauses: readonly Pause[]): readonly Pause[] {
  return pauses
    .filter(({ waiting }) => waiting > 0)
    .toSorted((one, other) => other.waiting - one.waiting)
    .slice(0, PAUSES_TOLD);
}

/**
 * What there is to see to, the worst first: what is lost unless somebody acts, then what concerns every event, then what a
 * release has broken, then what holds up others, what somebody has paused, and last what goes on by itself.
 */
export function troublesOf({ dead, groups, warnings, changes, pauses, stuck }: Seen): readonly Trouble[] {
  const { blocked, retries, more } = stuck;
  const { release } = changes;
  const broken = failingMore(changes.types);
  return [
    ...(dead.count === 0 ? [] : [{ what: 'dead', dead, groups, since: deadSince(groups) } as const]),
    ...warnings.map((warning) => ({ what: 'alarm', warning }) as const),
    ...(release === null || broken.length === 0 ? [] : [{ what: 'release', changes: broken, release } as const]),
    ...(blocked.waiting.length === 0 ? [] : [{ what: 'blocked', blocked, more } as const]),
    ...pausesToTell(pauses).map((pause) => ({ what: 'paused', pause }) as const),
    ...(retries.waiting.length === 0 ? [] : [{ what: 'retries', retries, more } as const]),
  ];
}

/**
 * Since when some of those that are dead are so at least; `null` where nobody can tell. Of a group its oldest and its newest are
 * known by when they were received: what was rerun meanwhile may have died after others.
 */
export function deadSince(groups: readonly Pick<DeadGroup, 'oldest' | 'newest'>[]): Date | null {
  return groups
    .flatMap(({ oldest, newest }) => [oldest.settledAt, newest.settledAt])
    .reduce((first, at) => (first === null || (at !== null && at < first) ? at : first), null);
}
