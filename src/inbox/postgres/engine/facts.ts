import type { Front, Queue, QueuedEvent, RunningEvent } from '../../rules/engine.ts';
import type { Lease, Scope } from '../../work.ts';

/** What is known of an entity whose slot is held. */
export interface EntityFacts {
  hasLease: boolean;
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
  /** who handles what, by endpoint and time */
  readonly taken = new Map<string, Scope['types']>();
  /** events that were seen waiting and not set aside */
  readonly unparked = new Set<number>();

  of(queue: Queue): EntityFacts | undefined {
    return this.entities.get(nameOf(queue));
  }

  note({ seq, endpoint, entity }: QueuedEvent, facts: EntityFacts): void {
    this.entities.set(nameOf({ endpoint, entity }), facts);
    this.#queues.set(seq, { endpoint, entity });
  }

  claimed(seq: number): void {
    const queue = this.#queues.get(seq);
    const facts = queue && this.of(queue);
    if (facts !== undefined) facts.hasLease = true;
  }

  held({ seq, fence }: Lease): RunningEvent | undefined {
    const event = this.running.get(seq);
    return event?.fence === fence ? event : undefined;
  }
}

function nameOf({ endpoint, entity }: Queue): string {
  return JSON.stringify([endpoint, entity]);
}
