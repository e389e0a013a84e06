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

/** An event with the facts that decide whether it is about an entity. */
export interface FoundEvent extends ErasableEvent {
  readonly hasTerm: boolean;
  /** the names in the conflicting body; `null` if there is none, or if `hasTerm` decides already */
  readonly beside: NamesInBody | null;
}

export interface EventAbout extends ErasableEvent {
  /** `false` if only the conflicting body is about the entity */
  readonly whole: boolean;
}

/** The events that are about the entity now. An event may have got another body since it was found. */
export function eventsAbout(found: readonly FoundEvent[], entity: string): readonly EventAbout[] {
  const term = entityTerm(entity);
  return found.flatMap(({ hasTerm: whole, beside, ...event }) =>
    whole || (beside !== null && entityTerms(beside).includes(term)) ? [{ ...event, whole }] : [],
  );
}

/** How many events were erased, and how many were not because their handlers are running. */
export interface Erased {
  readonly erased: number;
  readonly inProcessing: number;
}

export interface ErasePlan extends Erased {
  /** events that become tombstones without an entity, each with its new state */
  readonly tombstones: readonly { readonly event: EventAbout; readonly state: EventState }[];
  readonly discarded: readonly EventAbout[];
  /** queues that the discarded events leave: newer events may have waited for them */
  readonly left: readonly Queue[];
  /** events of which only the conflicting body goes; when it came stays known */
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

/** `null` if the handler of the event is running, because it needs the body. A pending event has nothing left to handle. */
export function erasedState(state: EventState): EventState | null {
  if (state === 'processing') return null;
  return state === 'pending' ? 'discarded' : state;
}

/** The name of an erased error: that an attempt failed stays known. */
export const ERASED_ERROR = 'Erased';

/** A hash of the entity's name, by which the audit can confirm a request. */
export function printOf(entity: string): string {
  return `sha256:${createHash('sha256').update(entity).digest('hex').slice(0, 16)}`;
}

const ERASED = '(erased)';
const NAME = String.raw`\p{L}\p{N}_-`;

export class ErasedNames {
  readonly #words = new Set<string>();
  readonly #escaped = new Set<string>();
  #entities: RegExp | null = null;

  /** The name of an entity, or the id in it: hidden wherever it is no part of a longer name. */
  addEntity(name: string): void {
    if (name === '' || this.#words.has(name)) return;
    this.#words.add(name);
    this.#escaped.add(name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
    this.#entities = null;
  }

  /**
   * The names that are erased with an event about an entity. The id of an event is hidden where it stands alone, or as a word
   * of a sentence.
   */
  addNamesOf(event: { readonly id: string; readonly entity: string | null }, entity: string): void {
    this.#words.add(event.id);
    const { entity: name } = event;
    if (name === null) return;
    this.addEntity(name);
    // An order's or a cart's id is a name for it; a product's is one for all of its locations, too.
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

  /** A value of JSON with all of its texts hidden. */
  hideInAll(value: unknown): unknown {
    if (typeof value === 'string') return this.hideIn(value);
    if (Array.isArray(value)) return value.map((item) => this.hideInAll(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.hideInAll(item)]));
  }
}
