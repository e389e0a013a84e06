import type { SyncStore } from '../queue-operations.ts';
import {
  type ReadyType,
  isAmong,
  isInScope,
  wasSeenAfter,
  type HandledType,
  type NotedProcessor,
} from '../rules/processors.ts';
import type { Scope } from '../work.ts';
import type { Entries, Entry } from './memory-entry.ts';

/** The processors, and what they handle. */
export class MemoryHandling {
  types: readonly HandledType[] = [];
  running: readonly NotedProcessor[] = [];

  typesSeen(endpoint: string, since: number): Scope['types'] {
    const types = this.types.flatMap((one) => (fits(one.endpoint, endpoint) && one.at > since ? one.type : []));
    return types.includes('*') ? '*' : types;
  }

  lastSeen(endpoint: string, type: string): number | null {
    const fitting = this.types.filter((one) => fits(one.endpoint, endpoint) && fits(one.type, type));
    return fitting.length === 0 ? null : Math.max(...fitting.map(({ at }) => at));
  }

  /** Processors that were seen before the clock was set back were seen that much earlier. */
  setBack(now: number, back: number): void {
    const moved = (at: number): number => (at > now ? at - back : at);
    this.types = this.types.map((one) => ({ ...one, at: moved(one.at) }));
    this.running = this.running.map((processor) => ({ ...processor, seenAt: moved(processor.seenAt) }));
  }
}

function fits(name: string, value: string): boolean {
  return name === '*' || name === value;
}

type Part = Pick<
  SyncStore,
  | 'noteScope'
  | 'noteProcessor'
  | 'forgetProcessors'
  | 'forgetProcessor'
  | 'processorsAfter'
  | 'handledTypes'
  | 'isAnybodyThere'
  | 'parkedAfter'
  | 'readyTypes'
  | 'waitingOf'
  | 'ignore'
  | 'pendingTypes'
  | 'ignoredTypes'
>;

/** Announcements, and what waits by type. Operators pause types, and they do not look into memory. */
export function memoryAnnouncements(entries: Entries, handling: MemoryHandling): Part {
  return {
    noteScope({ endpoints, types, named = [] }, now) {
      for (const endpoint of endpoints === '*' ? ['*'] : endpoints) {
        for (const type of types === '*' ? ['*', ...named] : types) {
          const isSame = (one: HandledType): boolean => one.endpoint === endpoint && one.type === type;
          const at = Math.max(now, handling.types.find(isSame)?.at ?? now);
          handling.types = [...handling.types.filter((one) => !isSame(one)), { endpoint, type, at }];
        }
      }
    },
    noteProcessor(processor) {
      handling.running = [...handling.running.filter(({ name }) => name !== processor.name), processor];
    },
    forgetProcessors(seenBy) {
      handling.running = handling.running.filter(({ seenAt }) => seenAt > seenBy);
    },
    forgetProcessor(forgotten) {
      handling.running = handling.running.filter(({ name }) => name !== forgotten);
    },
    processorsAfter: (since) =>
      handling.running
        .filter(({ seenAt }) => seenAt > since)
        .toSorted((one, other) => one.startedAt - other.startedAt || (one.name < other.name ? -1 : 1)),
    handledTypes: () => handling.types,
    isAnybodyThere: (since) => handling.types.some(({ at }) => at > since),
    parkedAfter: (seq, limit, handledSince) =>
      entries.all
        .slice(seq)
        .filter(({ isParked }) => isParked)
        .slice(0, limit)
        .map((entry) => {
          const isHandled = isAmong(handling.typesSeen(entry.endpoint, handledSince), entry.type);
          return { ...entry, bytes: bytesOf(entry), isHandled };
        }),
    readyTypes(endpoints, begin, gone, limit) {
      const types = new Map<string, ReadyType>();
      for (const { endpoint, type } of entries.ready()) {
        if (type === null || !isInScope({ endpoints, types: '*' }, { endpoint, type })) continue;
        if (wasSeenAfter(handling.lastSeen(endpoint, '*'), gone)) continue;
        const found = { endpoint, type, isPaused: false, lastSeen: handling.lastSeen(endpoint, type) };
        if (begin.endpoint !== null && compare(found, { endpoint: begin.endpoint, type: begin.from }) < 0) continue;
        types.set(JSON.stringify([endpoint, type]), found);
      }
      return [...types.values()].toSorted(compare).slice(0, limit);
    },
    waitingOf(types, dueBy, limit) {
      const waiting = types.flatMap(({ endpoint, type }) =>
        entries
          .ready()
          .filter((entry) => entry.endpoint === endpoint && entry.type === type && entry.dueAt <= dueBy)
          .toSorted((a, b) => a.dueAt - b.dueAt)
          .map((entry) => ({ ...entry, type, bytes: bytesOf(entry) })),
      );
      const events = waiting.slice(0, limit);
      return { events, endedAt: events.length === limit ? (events.at(-1) ?? null) : null };
    },
    ignore(seqs, now) {
      for (const seq of seqs) entries.change(seq, { state: 'ignored', settledAt: now, isParked: false });
    },
    pendingTypes: () =>
      totalsOf(entries.all.filter(({ state }) => state === 'pending')).map((total) => ({
        ...total,
        isPaused: false,
        lastSeen: handling.lastSeen(total.endpoint, total.type),
        wasEndpointHandled: handling.types.some(({ endpoint }) => fits(endpoint, total.endpoint)),
      })),
    ignoredTypes: (scope, since) =>
      totalsOf(
        entries.all.filter((entry) => entry.state === 'ignored' && entry.settledAt >= since && isInScope(scope, entry)),
      ).map((total) => ({ ...total, lastSeen: handling.lastSeen(total.endpoint, total.type) })),
  };
}

type Named = Pick<ReadyType, 'endpoint' | 'type'>;

function compare(one: Named, other: Named): number {
  const [a, b] = one.endpoint === other.endpoint ? [one.type, other.type] : [one.endpoint, other.endpoint];
  return a === b ? 0 : a < b ? -1 : 1;
}

function bytesOf({ body }: Entry): number {
  return body?.byteLength ?? 0;
}

/** How many there are of each endpoint and type, and when the first of them was due. */
function totalsOf(some: readonly Entry[]) {
  const totals = new Map<string, { endpoint: string; type: string; count: number; dueAt: number }>();
  for (const { endpoint, type, dueAt } of some) {
    if (type === null) continue;
    const key = JSON.stringify([endpoint, type]);
    const { count = 0, dueAt: first = dueAt } = totals.get(key) ?? {};
    totals.set(key, { endpoint, type, count: count + 1, dueAt: Math.min(first, dueAt) });
  }
  return [...totals.values()];
}
