import type { Engine, Starts } from '../../rules/engine.ts';
import { arrivals } from './arrivals.ts';
import { entityQueue } from './entity-queue.ts';
import type { EventIndex } from './event-index.ts';
import { handling } from './handling.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { processors } from './seen-processors.ts';
import { rerunStatements } from './rerun-event.ts';
import { takers } from './takers.ts';
import { timeSlice } from './time-slice.ts';
import { tombstones } from './tombstone.ts';
import { waitingTypes } from './waiting-types.ts';

/** What the rules ask for, carried out on the tables of a file. */
export function sqliteEngine(statements: NamedStatements, index: EventIndex): Engine & Starts {
  return {
    counts: statements.counts,
    timeSlice,
    ...arrivals(statements, index),
    ...handling(statements),
    ...entityQueue(statements),
    ...takers(statements),
    ...processors(statements),
    ...waitingTypes(statements),
    ...tombstones(statements),
    ...rerunStatements(statements, index),
  };
}
