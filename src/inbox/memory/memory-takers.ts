import type { Processors, Takers } from '../rules/engine.ts';
import { answer, DONE } from '../rules/steps.ts';
import type { Scope } from '../work.ts';

interface Taker {
  readonly endpoint: string;
  readonly type: string;
  seen: number;
}

export interface MemoryTakers extends Takers, Pick<Processors, 'everTaken'> {
  typesSeen(endpoint: string, since: number): Scope['types'];
  /** Whoever was seen before the clock was set back was so that much earlier. */
  setBack(now: number, back: number): void;
}

/** Who handles what, in memory. */
export function memoryTakers(): MemoryTakers {
  const takers: Taker[] = [];
  const fits = (name: string, value: string): boolean => name === '*' || name === value;

  const typesSeen = (endpoint: string, since: number): Scope['types'] => {
    const types = takers.flatMap((taker) => (fits(taker.endpoint, endpoint) && taker.seen > since ? taker.type : []));
    return types.includes('*') ? '*' : types;
  };

  return {
    // Operators pause, and they do not look into memory.
    pauses: () => answer([]),
    noteTaker({ endpoints, types, named = [] }, now) {
      for (const endpoint of endpoints === '*' ? ['*'] : endpoints) {
        for (const type of types === '*' ? ['*', ...named] : types) {
          const known = takers.find((taker) => taker.endpoint === endpoint && taker.type === type);
          if (known === undefined) takers.push({ endpoint, type, seen: now });
          else known.seen = Math.max(known.seen, now);
        }
      }
      return DONE;
    },
    typesSeen,
    takenTypes: (endpoint, since) => answer(typesSeen(endpoint, since)),
    lastSeen(endpoint, type) {
      const seen = takers.flatMap((taker) =>
        fits(taker.endpoint, endpoint) && fits(taker.type, type) ? taker.seen : [],
      );
      return answer(seen.length === 0 ? null : Math.max(...seen));
    },
    isAnybodyThere: (since) => answer(takers.some(({ seen }) => seen > since)),
    everTaken: () => answer(takers.map(({ endpoint, type, seen }) => ({ endpoint, type, at: seen }))),
    wasEverHandled: (endpoint) => answer(takers.some((taker) => fits(taker.endpoint, endpoint))),
    setBack(now, back) {
      for (const taker of takers) if (taker.seen > now) taker.seen -= back;
    },
  };
}
