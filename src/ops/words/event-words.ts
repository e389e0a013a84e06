import type { Act, ActResult } from '../../inbox/operator/acts.ts';
import type { DeadGroup, EventSummary } from '../../inbox/operator/search.ts';
import type { DeadReason } from '../../inbox/event.ts';
import type { Attempt } from '../../inbox/work.ts';
import { ACT_WORDS } from './act-words.ts';
import { relative } from './format.ts';

/** Why events are dead, where they are listed. */
export const DEAD_REASONS = {
  failed: 'its handler failed in the last attempt',
  crashed: 'the process ended three times while the handler was running',
  invalid: 'it does not fit the schema',
} as const satisfies Record<DeadReason, string>;

/** How long an attempt took. When a process ended nobody has seen: that is found once its lease has run out. */
export function afterHowLong(outcome: Attempt['outcome'], duration: string): string {
  return outcome === 'crashed' ? `, detected after ${duration}` : ` after ${duration}`;
}

/** When an event is tried next, as text for its timeline. The text marks a future attempt as still to come. */
export function dueInWords(at: Date, wasTried: boolean, now: Date): string {
  const which = wasTried ? 'next' : 'first';
  return at > now
    ? `the ${which} attempt is due ${relative(at, now)}`
    : `due, but the ${which} attempt has not started yet`;
}

/** What the events of a group died of. */
export function causeOfDeath({ sample, reason }: Pick<DeadGroup, 'sample' | 'reason'>): string {
  return sample === null ? DEAD_REASONS[reason] : `${sample.name}: ${sample.message}`;
}

/** Why the events of a group are tried again. */
export function causeOfRetry(sample: EventSummary['lastError']): string {
  return sample === null ? 'no error text' : `${sample.name}: ${sample.message}`;
}

/** The state of an event, with what an operator wants to know with it: `dead (failed)`, `pending (retrying)`. */
export function stateText({
  state,
  deadReason,
  failures,
  pruned,
}: Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'pruned'>): string {
  const remarks = [
    ...(deadReason === null ? [] : [deadReason]),
    ...(state === 'pending' && failures > 0 ? ['retrying'] : []),
    ...(pruned ? ['pruned'] : []),
  ];
  return remarks.length === 0 ? state : `${state} (${remarks.join(', ')})`;
}

/** What became of an event under an action, for each result it can have. */
export function resultInWords(act: Act, result: ActResult): string {
  switch (result) {
    case 'done':
      return ACT_WORDS[act].done;
    case 'unknown':
      return 'no longer stored';
    case 'not needed':
      return ACT_WORDS[act].notNeeded;
    case 'changed':
      return ACT_WORDS[act].changed;
    case 'still invalid':
      return 'still invalid under the current schemas';
    case 'pruned':
      return 'pruned: the handler needs the body, which was removed';
  }
}
