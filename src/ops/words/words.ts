import type { Act, ActResult } from '../../inbox/operations/acts.ts';
import type { DeadGroup } from '../../inbox/operations/search.ts';
import type { DeadReason } from '../../inbox/state.ts';

/** Why events are dead, where they are listed. */
export const DEAD_REASONS = {
  failed: 'its handler failed for the last time',
  crashed: 'the process ended three times while it was handled',
  invalid: 'it does not fit the schema',
} as const satisfies Record<DeadReason, string>;

/** What the events of a group died of. */
export function causeOfDeath({ sample, reason }: Pick<DeadGroup, 'sample' | 'reason'>): string {
  return sample === null ? DEAD_REASONS[reason] : `${sample.name}: ${sample.message}`;
}

/** What became of an event under an act, for each result it can have. */
export function resultInWords(act: Act, result: ActResult): string {
  switch (result) {
    case 'done':
      return act === 'rerun' ? 'rerun' : 'discarded';
    case 'unknown':
      return 'not there any more';
    case 'not needed':
      return act === 'rerun'
        ? 'left alone: neither dead nor ignored by then'
        : 'left alone: settled or in processing by then';
    case 'still invalid':
      return 'still invalid under today’s schemas';
    case 'pruned':
      return 'pruned: no body is left to run a handler with';
  }
}
