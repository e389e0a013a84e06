import type { EventKey, StoredEvent } from '../event.ts';
import type { HandledType, NotedProcessor } from '../rules/processors.ts';
import type { Times } from '../rules/accept.ts';
import type { Attempt, Scope } from '../work.ts';
import type { Queue } from '../rules/store.ts';

type Shown = Omit<StoredEvent, 'redeliveries' | 'conflict'>;

/** An event in memory: what is shown of it, and what its handling needs. */
export type Entry = { -readonly [K in keyof Shown]: Shown[K] } & {
  redeliveries: Times | null;
  conflicts: Times | null;
  /** the newest of the other bodies that came under its key */
  otherBody: Uint8Array | null;
  dueAt: number;
  settledAt: number;
  failures: number;
  crashes: number;
  fence: number;
  claimedAt: number;
  leaseUntil: number;
  /** its handler runs, also where it is processed already */
  isLeased: boolean;
  /** its processor has said that it closes */
  isClosing: boolean;
  /** no processor has looked at it yet */
  isFresh: boolean;
  /** it waits for others of its entity */
  isParked: boolean;
  /** it has failed, and newer events of its entity need not wait for it */
  yields: boolean;
  trace: string | null;
  trigger: Attempt['trigger'];
  readonly attempts: Attempt[];
  attemptCount: number;
  /** of the body, once it is gone */
  hash: Uint8Array | null;
};

/** All events in the order of arrival: the one with `seq` 1 is the first. */
export class Entries {
  readonly all: Entry[] = [];
  readonly #byKey = new Map<string, Entry>();
  readonly #byEntity = new Map<string, Set<Entry>>();

  find(key: EventKey): Entry | undefined {
    return this.#byKey.get(nameOf(key));
  }

  /** One that is known to be there. */
  at(seq: number): Entry {
    const entry = this.all[seq - 1];
    if (entry === undefined) throw new RangeError(`no event ${seq} exists`);
    return entry;
  }

  add(entry: Entry): void {
    this.all.push(entry);
    this.#byKey.set(nameOf(entry), entry);
    this.setEntity(entry, entry.entity);
  }

  change(seq: number, changes: Partial<Entry>): void {
    Object.assign(this.at(seq), changes);
  }

  /** Puts an event in the queue of an entity; `null` takes it out of the one it was in. */
  setEntity(entry: Entry, entity: string | null): void {
    this.#byEntity.get(entityOf(entry))?.delete(entry);
    entry.entity = entity;
    if (entity === null) return;
    const name = entityOf(entry);
    const others = this.#byEntity.get(name);
    if (others === undefined) this.#byEntity.set(name, new Set([entry]));
    else others.add(entry);
  }

  /** The events of an entity, in any state. */
  ofEntity(queue: Queue): readonly Entry[] {
    return queue.entity === null ? [] : [...(this.#byEntity.get(entityOf(queue)) ?? [])];
  }

  /** What may be claimed when it is due. */
  ready(): Entry[] {
    return this.all.filter(({ state, isFresh, isParked }) => state === 'pending' && !isFresh && !isParked);
  }
}

export function entityOf({ endpoint, entity }: Queue): string {
  return JSON.stringify([endpoint, entity]);
}

function nameOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}

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

export function fits(name: string, value: string): boolean {
  return name === '*' || name === value;
}
