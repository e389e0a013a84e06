import type { Engine } from '../../rules/engine.ts';
import { arrivals } from './arrivals.ts';
import { nextInQueues } from './entity-queue.ts';
import { reruns } from './reruns.ts';
import { asked, DONE } from '../../rules/steps.ts';
import type { Scene } from './scene.ts';
import { processors } from './seen-processors.ts';
import { takers } from './takers.ts';
import { timeSlice } from './time-slice.ts';
import { tombstones } from './tombstones.ts';
import { waitingTypes } from './waiting-types.ts';

/** What the rules ask for, carried out in one transaction; each statement is waited for. */
export function postgresEngine(scene: Scene): Engine {
  return {
    counts: scene.writes.counts,
    timeSlice,
    ...arrivals(scene),
    // Before the transaction (latest-time.ts): a transaction that held the row of the clock would delay all others.
    noteTime: () => DONE,
    nextInQueues: (queues, handledSince) => asked(nextInQueues(scene, queues, handledSince)),
    unpark(seqs) {
      scene.writes.unpark(seqs);
      return DONE;
    },
    ...takers(scene),
    ...processors(scene),
    ...waitingTypes(scene),
    ...tombstones(scene),
    ...reruns(scene),
  };
}
