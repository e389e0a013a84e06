import type { StoredPause } from '../../operator/pauses.ts';
import type { Front, Queue, QueuedEvent, RunningEvent } from '../../rules/engine.ts';
import type { Ending } from '../../rules/attempt-end.ts';
import type { Lease } from '../../work.ts';

/** What is known of an entity whose slot is held. */
export interface EntityFacts {
  /** `undefined`: one lease of it has ended, and nobody has looked whether there are others */
  hasLease: boolean | undefined;
  front: Front | undefined;
}

/**
 * What a statement has read for many events at once, for those that are asked about one by one. It is of a time at which their
 * slots were held, and forgotten where this transaction changes it.
 */
export class Facts {
  readonly entities = new Map<string, EntityFacts>();
  /** the entities of events, by `seq` */
  readonly #queues = new Map<number, Queue>();
  /** whether a newer event of their entity was processed, by `seq` */
  readonly superseded = new Map<number, boolean>();
  /** what is in processing, by `seq` */
  readonly running = new Map<number, RunningEvent | undefined>();
  /** the types that each endpoint's events are handled of, with when somebody was last seen who does */
  readonly takers = new Map<string, Promise<ReadonlyMap<string, number>>>();
  /** whether events that were seen waiting are set aside, by `seq` */
  readonly parked = new Map<number, boolean>();
  /** what is paused */
  pauses: Promise<readonly StoredPause[]> | undefined;
  /** events that yield and are parked, by their queue */
  readonly #yielding = new Map<string, readonly number[]>();

  of(queue: Queue): EntityFacts | undefined {
    return this.entities.get(nameOf(queue));
  }

  note({ seq, endpoint, entity }: QueuedEvent, facts: EntityFacts): void {
    this.entities.set(nameOf({ endpoint, entity }), facts);
    this.#queues.set(seq, { endpoint, entity });
  }

  noteYielding(queue: Queue, seqs: readonly number[]): void {
    this.#yielding.set(nameOf(queue), seqs);
    for (const seq of seqs) this.parked.set(seq, true);
  }

  parkedYielding(queue: Queue): readonly number[] | undefined {
    return this.#yielding.get(nameOf(queue));
  }

  claimed(seq: number): void {
    const queue = this.#queues.get(seq);
    const facts = queue && this.of(queue);
    if (facts !== undefined) facts.hasLease = true;
  }

  /** An attempt has ended. What is processed was at no front and is at none now; what waits again may be. */
  ended(seq: number, state: Ending['state']): void {
    const event = this.running.get(seq);
    this.running.set(seq, undefined);
    const facts = event && this.of(event);
    if (state !== 'processed') this.entities.clear();
    else if (facts !== undefined) facts.hasLease = undefined;
  }

  held({ seq, fence }: Lease): RunningEvent | undefined {
    const event = this.running.get(seq);
    return event?.fence === fence ? event : undefined;
  }
}

function nameOf({ endpoint, entity }: Queue): string {
  return JSON.stringify([endpoint, entity]);
}
