import type { EntityQueue, Takers, WaitingTypes } from '../rules/engine.ts';
import { answer, DONE } from '../rules/steps.ts';
import { isInScope } from '../rules/takers.ts';
import type { Entries, Entry } from './memory-entry.ts';

type Part = Omit<WaitingTypes, 'counts' | 'timeSlice' | 'noteTime' | 'indexNew' | keyof EntityQueue | keyof Takers>;

interface Total {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
  /** of the first */
  readonly dueAt: number;
}

/** What waits in memory, by type. */
export function memoryTypes(entries: Entries): Part {
  return {
    parkedAfter(seq, limit) {
      const parked = entries.all.slice(seq).filter(({ isParked }) => isParked);
      return answer(
        parked
          .slice(0, limit)
          .map((entry) => ({ ...entry, type: entry.type ?? '', bytes: entry.body?.byteLength ?? 0 })),
      );
    },
    readyEndpoints(endpoints) {
      if (endpoints !== '*') return answer(endpoints);
      return answer([...new Set(entries.ready().map(({ endpoint }) => endpoint))].toSorted());
    },
    nextReadyType(endpoint, from) {
      const types = entries.ready().flatMap((entry) => (entry.endpoint === endpoint ? (entry.type ?? []) : []));
      return answer(types.filter((type) => type >= from).toSorted()[0] ?? null);
    },
    waitingOfType({ endpoint, type }, dueBy, limit) {
      const waiting = entries
        .ready()
        .filter((entry) => entry.endpoint === endpoint && entry.type === type && entry.dueAt <= dueBy)
        .toSorted((a, b) => a.dueAt - b.dueAt);
      return answer(waiting.slice(0, limit).map((entry) => ({ ...entry, bytes: entry.body?.byteLength ?? 0 })));
    },
    ignore(seq, now) {
      entries.change(seq, { state: 'ignored', settledAt: now, isParked: false });
      return DONE;
    },
    pendingTypes: () => answer(totalsOf(entries.all.filter(({ state }) => state === 'pending'))),
    ignoredTypes(scope, since) {
      const ignored = entries.all.filter(
        (entry) => entry.state === 'ignored' && entry.settledAt >= since && isInScope(scope, entry),
      );
      return answer(totalsOf(ignored));
    },
  };
}

/** How many there are of each endpoint and type. */
function totalsOf(some: readonly Entry[]): readonly Total[] {
  const totals = new Map<string, Total>();
  for (const { endpoint, type, dueAt } of some) {
    if (type === null) continue;
    const key = JSON.stringify([endpoint, type]);
    const { count = 0, dueAt: first = dueAt } = totals.get(key) ?? {};
    totals.set(key, { endpoint, type, count: count + 1, dueAt: Math.min(first, dueAt) });
  }
  return [...totals.values()];
}
