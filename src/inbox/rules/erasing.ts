import { createHash } from 'node:crypto';
import type { EventKey, EventState } from '../event.ts';
import { entityTerm, entityTerms, idsIn, type NamesInBody } from './entity-terms.ts';
import type { Queue } from './store.ts';

export interface ErasableEvent extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly state: EventState;
}

export interface FoundEvent extends ErasableEvent {
  readonly hasTerm: boolean;
  /** the names in the conflicting body; `null` without one, or if `hasTerm` decides */
  readonly beside: NamesInBody | null;
}

export interface EventAbout extends ErasableEvent {
  /** `false` if only the conflicting body is about the entity */
  readonly whole: boolean;
}

/** An event may have got another body since the search. */
export function eventsAbout(found: readonly FoundEvent[], entity: string): readonly EventAbout[] {
  const term = entityTerm(entity);
  return found.flatMap(({ hasTerm: whole, beside, ...event }) =>
    whole || (beside !== null && entityTerms(beside).includes(term)) ? [{ ...event, whole }] : [],
  );
}

export interface Erased {
  readonly erased: number;
  readonly inProcessing: number;
}

export interface ErasePlan extends Erased {
  /** each with its new state */
  readonly tombstones: readonly { readonly event: EventAbout; readonly state: EventState }[];
  readonly discarded: readonly EventAbout[];
  readonly left: readonly Queue[];
  /** events that lose only the conflicting body */
  readonly emptied: readonly number[];
  readonly acted: readonly number[];
}

export function planErase(events: readonly EventAbout[]): ErasePlan {
  const tombstones = events.flatMap((event) => {
    const state = event.whole ? erasedState(event.state) : null;
    return state === null ? [] : [{ event, state }];
  });
  const emptied = events.filter(({ whole }) => !whole).map(({ seq }) => seq);
  const discarded = tombstones.filter(({ event, state }) => state !== event.state).map(({ event }) => event);
  const left = new Map<string, Queue>();
  for (const { endpoint, entity } of discarded) {
    if (entity !== null) left.set(JSON.stringify([endpoint, entity]), { endpoint, entity });
  }
  const acted = [...tombstones.map(({ event }) => event.seq), ...emptied];
  const counts = { erased: acted.length, inProcessing: events.length - acted.length };
  return { tombstones, discarded, left: [...left.values()], emptied, acted, ...counts };
}

/** `null` if the handler is running, because it needs the body. */
export function erasedState(state: EventState): EventState | null {
  if (state === 'processing') return null;
  return state === 'pending' ? 'discarded' : state;
}

export const ERASED_ERROR = 'Erased';

/** The audit can confirm a request by this hash. */
export function printOf(entity: string): string {
  return `sha256:${createHash('sha256').update(entity).digest('hex').slice(0, 16)}`;
}

const ERASED = '(erased)';
const NAME = String.raw`\p{L}\p{N}_-`;

export class ErasedNames {
  readonly #words = new Set<string>();
  readonly #escaped = new Set<string>();
  #entities: RegExp | null = null;

  /** Hides an entity's name or id, unless it is part of a longer name. */
  addEntity(name: string): void {
    if (name === '' || this.#words.has(name)) return;
    this.#words.add(name);
    this.#escaped.add(name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
    this.#entities = null;
  }

  /** Hides the id of an event where it is the whole text or a word. */
  addNamesOf(event: { readonly id: string; readonly entity: string | null }, entity: string): void {
    this.#words.add(event.id);
    const { entity: name } = event;
    if (name === null) return;
    this.addEntity(name);
    // The id of an order or a cart identifies it; the id of a product stands for all of its locations.
    const [only, ...others] = idsIn(name);
    if (only !== undefined && others.length === 0 && (name === entity || only === entity)) this.addEntity(only);
  }

  hideIn(text: string): string {
    if (this.#words.has(text)) return ERASED;
    this.#entities ??= new RegExp(`(?<![${NAME}])(?:${[...this.#escaped].join('|')})(?![${NAME}])`, 'gu');
    return text
      .replaceAll(this.#entities, ERASED)
      .replaceAll(/[^\s,;()"'[\]{}]+?(?=[.:!?]*(?:[\s,;()"'[\]{}]|$))/g, (word) =>
        this.#words.has(word) ? ERASED : word,
      );
  }

  hideInReason(reason: string | null): string | null {
    return reason === null ? null : this.hideIn(reason);
  }

  hideInAll(value: unknown): unknown {
    if (typeof value === 'string') return this.hideIn(value);
    if (Array.isArray(value)) return value.map((item) => this.hideInAll(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.hideInAll(item)]));
  }
}
