import {
  IGNORE_AFTER_MS,
  TAKER_MS,
  type IgnoredType,
  type Scope,
  type TypeCount,
  type UnhandledType,
} from '../work.ts';
import type { Entry } from './memory-entry.ts';

type Whose = Pick<Entry, 'endpoint' | 'type'>;

/** Who handles what in memory, and what nobody handles. */
export function memoryTakers(entries: readonly Entry[]) {
  const takers: { readonly endpoint: string; readonly type: string; seen: number }[] = [];
  const fits = (name: string, value: string | null): boolean => name === '*' || name === value;

  /** When somebody was last seen who handles it; `-Infinity` for never. */
  const seen = ({ endpoint, type }: Whose): number =>
    takers.reduce(
      (latest, taker) =>
        fits(taker.endpoint, endpoint) && fits(taker.type, type) ? Math.max(latest, taker.seen) : latest,
      -Infinity,
    );

  return {
    seen,

    note({ endpoints, types }: Scope, now: number): void {
      for (const endpoint of endpoints === '*' ? ['*'] : endpoints) {
        for (const type of types === '*' ? ['*'] : types) {
          const known = takers.find((taker) => taker.endpoint === endpoint && taker.type === type);
          if (known === undefined) takers.push({ endpoint, type, seen: now });
          else known.seen = now;
        }
      }
    },

    /** Whoever was seen before the clock was set back was so that much earlier. */
    setBack(now: number, back: number): void {
      for (const taker of takers) if (taker.seen > now) taker.seen -= back;
    },

    /** What may be put away. */
    untaken(endpoints: Scope['endpoints'], now: number, before: number): readonly Entry[] {
      const goneSince = Math.min(now - IGNORE_AFTER_MS, before);
      return entries.filter(
        (entry) =>
          entry.state === 'pending' &&
          entry.dueAt <= before &&
          isIn({ endpoints, types: '*' }, entry) &&
          seen(entry) <= goneSince,
      );
    },

    unhandled(now: number, since = now - TAKER_MS): readonly UnhandledType[] {
      const isForgotten = (endpoint: string): boolean =>
        takers.some((taker) => taker.seen > since) && !takers.some((taker) => fits(taker.endpoint, endpoint));
      return countTypes(entries.filter(({ state, dueAt }) => state === 'pending' && dueAt <= since)).flatMap(
        (counted) => {
          const at = seen(counted);
          if (at > since || (at === -Infinity && !isForgotten(counted.endpoint))) return [];
          return [{ ...counted, since: at === -Infinity ? null : new Date(at) }];
        },
      );
    },

    ignoredSince(scope: Scope, since: number, now: number): readonly IgnoredType[] {
      const ignored = entries.filter(
        (entry) => entry.state === 'ignored' && entry.settledAt >= since && isIn(scope, entry),
      );
      return countTypes(ignored).map((counted) => ({ ...counted, handled: seen(counted) > now - TAKER_MS }));
    },
  };
}

export function isIn({ endpoints, types }: Scope, { endpoint, type }: Whose): boolean {
  return (endpoints === '*' || endpoints.includes(endpoint)) && (types === '*' || types.includes(type ?? ''));
}

/** How many there are of each endpoint and type. */
export function countTypes(some: readonly Entry[]): readonly TypeCount[] {
  const counts = new Map<string, TypeCount>();
  for (const { endpoint, type } of some) {
    if (type === null) continue;
    const key = JSON.stringify([endpoint, type]);
    counts.set(key, { endpoint, type, count: (counts.get(key)?.count ?? 0) + 1, more: false });
  }
  return [...counts.values()];
}
