import type { Engine } from '../../rules/engine.ts';
import { arrivals } from './arrivals.ts';
import { entityQueue } from './entity-queue.ts';
import { handling } from './handling.ts';
import { reruns } from './reruns.ts';
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
    ...handling(scene),
    ...entityQueue(scene),
    ...takers(scene),
    ...processors(scene),
    ...waitingTypes(scene),
    ...tombstones(scene),
    ...reruns(scene),
  };
}
