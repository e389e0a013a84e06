import { performance } from '../../host/real-timers.ts';
import { isEventType } from '../../events/event-types.ts';
import type { CountTotal } from './counted.ts';

/** So many types of an application's own are counted by their names. */
export const MOST_OWN_TYPES = 50;
/** A longer name is none for a label. */
const LONGEST_NAME = 100;
/** What handlers name is looked up again after so long. */
const FRESH_MS = 10_000;

const OTHER = 'other';
const INVALID = 'invalid';

/** As what an event is counted before it is known which types handlers name. */
export function countedType(type: string | null): string {
  if (type === null) return INVALID;
  // A sender may call a type so.
  return type === INVALID ? OTHER : type;
}

/** Whether it is an application's own, or a sender's: one that hookbox does not know. */
export function isOwnType(type: string): boolean {
  return !isEventType(type) && type !== OTHER && type !== INVALID && type !== '*';
}

/** Those of an application's own that are counted by their names, of all that handlers name. */
export function ownTypesAmong(handled: Iterable<string>): ReadonlySet<string> {
  return new Set(
    [...new Set(handled)]
      .filter((type) => isOwnType(type) && type.length <= LONGEST_NAME)
      .toSorted()
      .slice(0, MOST_OWN_TYPES),
  );
}

/** Kinds of counts whose detail is a type. */
const BY_TYPE: ReadonlySet<CountTotal['what']> = new Set([
  'stored',
  'processed',
  'failed',
  'dead',
  'ignored',
  'rerun',
  'discarded',
  'type-ms',
]);

/** The type in the detail of a count; `null` where there is none. */
function typeIn({ what, detail }: CountTotal): string | null {
  if (!BY_TYPE.has(what)) return null;
  return what === 'type-ms' ? detail.slice(0, detail.lastIndexOf(' ')) : detail;
}

/** Whether it makes a difference which types handlers name. */
export function hasOwnType(sums: readonly CountTotal[]): boolean {
  return sums.some((sum) => isOwnType(typeIn(sum) ?? OTHER));
}

/**
 * Types are the sender's text: those that neither hookbox nor a handler knows are counted together, so that the counts stay
 * few.
 */
export function foldTypes(sums: readonly CountTotal[], named: ReadonlySet<string>): readonly CountTotal[] {
  const folded = new Map<string, CountTotal>();
  for (const sum of sums) {
    const type = typeIn(sum);
    const isFolded = type !== null && isOwnType(type) && !named.has(type);
    const detail = isFolded ? `${OTHER}${sum.detail.slice(type.length)}` : sum.detail;
    const key = `${sum.what} ${detail}`;
    folded.set(key, { ...sum, detail, count: (folded.get(key)?.count ?? 0) + sum.count });
  }
  return [...folded.values()];
}

/** The type as which an event is counted, where it is known which types handlers name. */
export function foldedType(type: string | null, named: ReadonlySet<string>): string {
  const counted = countedType(type);
  return isOwnType(counted) && !named.has(counted) ? OTHER : counted;
}

/** Which types handlers name, remembered for some seconds: senders can invent types, and each would be looked up. */
export class NamedTypes {
  #names: ReadonlySet<string> = new Set();
  #freshUntil = -Infinity;

  get isFresh(): boolean {
    return performance.now() < this.#freshUntil;
  }

  get names(): ReadonlySet<string> {
    return this.#names;
  }

  learn(handled: Iterable<string>): ReadonlySet<string> {
    this.#names = ownTypesAmong(handled);
    this.#freshUntil = performance.now() + FRESH_MS;
    return this.#names;
  }
}
