import type { EventKey, IncomingEvent, StoredEvent } from '../event.ts';
import type { FirstState, Times } from '../rules/accept.ts';
import type { HandledType, NotedProcessor } from '../rules/processors.ts';
import { pausedAt, type StoredPause } from '../rules/pauses.ts';
import type { Queue } from '../rules/store.ts';
import type { Attempt, DoneStep, Scope } from '../work.ts';

type Shown = Omit<StoredEvent, 'redeliveries' | 'conflict'>;

export type Entry = { -readonly [K in keyof Shown]: Shown[K] } & {
  redeliveries: Times | null;
  conflicts: Times | null;
  /** the newest different body of its key */
  otherBody: Uint8Array | null;
  bytes: number;
  hash: Uint8Array | null;
  dueAt: number;
  settledAt: number;
  failures: number;
  crashes: number;
  fence: number;
  claimedAt: number;
  leaseUntil: number;
  /** whether its handler is running, even if it is processed */
  isLeased: boolean;
  isClosing: boolean;
  /** no processor has examined it yet */
  isFresh: boolean;
  isParked: boolean;
  yields: boolean;
  trace: string | null;
  trigger: Attempt['trigger'];
  readonly attempts: Attempt[];
  readonly steps: DoneStep[];
  attempt: number;
};

const UNHANDLED = {
  hash: null,
  redeliveries: null,
  conflicts: null,
  otherBody: null,
  failures: 0,
  crashes: 0,
  fence: 0,
  claimedAt: 0,
  leaseUntil: 0,
  isLeased: false,
  isClosing: false,
  isParked: false,
  yields: false,
  trigger: 'auto',
  attempt: 0,
} as const;

export class Entries {
  readonly all: Entry[] = [];
  readonly #byKey = new Map<string, Entry>();

  find({ endpoint, id }: EventKey): Entry | undefined {
    return this.#byKey.get(JSON.stringify([endpoint, id]));
  }

  at(seq: number): Entry {
    const entry = this.all[seq - 1];
    if (entry === undefined) throw new RangeError(`no event ${seq} exists`);
    return entry;
  }

  add(event: IncomingEvent, { state, deadReason, isFresh }: FirstState): Entry {
    const { endpoint, id, receivedAt, body, trace } = event;
    const entry: Entry = {
      ...event,
      ...UNHANDLED,
      seq: this.all.length + 1,
      state,
      deadReason,
      isFresh,
      // A copy: the caller may reuse its buffer.
      body: Uint8Array.from(body),
      bytes: body.byteLength,
      receivedAt: new Date(receivedAt),
      dueAt: receivedAt,
      settledAt: receivedAt,
      trace: trace ?? null,
      attempts: [],
      steps: [],
    };
    this.all.push(entry);
    this.#byKey.set(JSON.stringify([endpoint, id]), entry);
    return entry;
  }

  change(seq: number, changes: Partial<Entry>): void {
    const entry = Object.assign(this.at(seq), changes);
    entry.bytes = entry.body?.byteLength ?? 0;
  }

  ofEntity({ endpoint, entity }: Queue): readonly Entry[] {
    return entity === null ? [] : this.all.filter((one) => one.entity === entity && one.endpoint === endpoint);
  }

  ready(): readonly Entry[] {
    return this.all.filter(({ state, isFresh, isParked }) => state === 'pending' && !isFresh && !isParked);
  }
}

export class MemoryHandling {
  types: readonly HandledType[] = [];
  running: readonly NotedProcessor[] = [];
  /** Only handlers pause types here, not operators. */
  readonly pauses: StoredPause[] = [];

  /** `null` ends the pause. */
  movePauses(to: (until: number) => number | null): void {
    const moved = this.pauses.flatMap((pause) => {
      const until = to(pause.until?.getTime() ?? Infinity);
      return until === null ? [] : [{ ...pause, until: new Date(until) }];
    });
    this.pauses.splice(0, this.pauses.length, ...moved);
  }

  /** Types whose events hold back newer ones of their entity. */
  typesSeen(endpoint: string, since: number): Scope['types'] {
    const types = this.types.flatMap((one) => (fits(one.endpoint, endpoint) && one.at > since ? one.type : []));
    return types.includes('*') ? '*' : [...types, ...pausedAt(this.pauses, endpoint)];
  }

  lastSeen(endpoint: string, type: string): number | null {
    const fitting = this.types.filter((one) => fits(one.endpoint, endpoint) && fits(one.type, type));
    return fitting.length === 0 ? null : Math.max(...fitting.map(({ at }) => at));
  }

  setBack(now: number, back: number): void {
    const moved = (at: number): number => (at > now ? at - back : at);
    this.types = this.types.map((one) => ({ ...one, at: moved(one.at) }));
    this.running = this.running.map((processor) => ({ ...processor, seenAt: moved(processor.seenAt) }));
  }
}

export function fits(name: string, value: string): boolean {
  return name === '*' || name === value;
}
