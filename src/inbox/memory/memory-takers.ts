import type { Processors, Takers } from '../rules/engine.ts';
import { answer, DONE } from '../rules/steps.ts';

interface Taker {
  readonly endpoint: string;
  readonly type: string;
  seen: number;
}

export interface MemoryTakers extends Takers, Pick<Processors, 'everTaken'> {
  /** Whoever was seen before the clock was set back was so that much earlier. */
  setBack(now: number, back: number): void;
}

/** Who handles what, in memory. */
export function memoryTakers(): MemoryTakers {
  const takers: Taker[] = [];
  const fits = (name: string, value: string): boolean => name === '*' || name === value;

  return {
    // Operators pause, and they do not look into memory.
    pauses: () => answer([]),
    noteTaker({ endpoints, types }, now) {
      for (const endpoint of endpoints === '*' ? ['*'] : endpoints) {
        for (const type of types === '*' ? ['*'] : types) {
          const known = takers.find((taker) => taker.endpoint === endpoint && taker.type === type);
          if (known === undefined) takers.push({ endpoint, type, seen: now });
          else known.seen = Math.max(known.seen, now);
        }
      }
      return DONE;
    },
    takenTypes(endpoint, since) {
      const types = takers.flatMap((taker) => (fits(taker.endpoint, endpoint) && taker.seen > since ? taker.type : []));
      return answer(types.includes('*') ? '*' : types);
    },
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
