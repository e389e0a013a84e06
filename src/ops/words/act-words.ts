import type { EventAct } from '../../inbox/operator/audit.ts';
import type { Act } from '../../inbox/operator/acts.ts';
import type { EventCount } from '../../inbox/operator/search.ts';
import type { EventState } from '../../inbox/event.ts';
import { number } from './format.ts';

/** The words for an action, in each tense. */
interface ActWords {
  /** before, during and after the action, and after a cancellation */
  readonly will: string;
  readonly does: string;
  readonly did: string;
  readonly wasTo: string;
  /** what became of an event */
  readonly done: string;
  /** why it was left alone */
  readonly notNeeded: string;
  readonly changed: string;
}

export const ACT_WORDS = {
  rerun: {
    will: 'Will rerun',
    does: 'Rerunning',
    did: 'Reran',
    wasTo: 'Would have rerun',
    done: 'rerun',
    notNeeded: 'unchanged: neither dead nor ignored nor discarded',
    changed: 'unchanged: no longer in the expected state, for example because it was discarded',
  },
  discard: {
    will: 'Will discard',
    does: 'Discarding',
    did: 'Discarded',
    wasTo: 'Would have discarded',
    done: 'discarded',
    notNeeded: 'unchanged: neither dead nor pending',
    changed: 'unchanged: no longer in the expected state, for example because it was rerun',
  },
  'retry-now': {
    will: 'Will retry',
    does: 'Retrying',
    did: 'Retried',
    wasTo: 'Would have retried',
    done: 'retried now',
    notNeeded: 'unchanged: not pending, or already due',
    changed: 'unchanged: no longer in the expected state',
  },
} as const satisfies Record<Act, ActWords>;

/** What was done to an event by an action of the audit. */
export function actInWords(act: EventAct['act']): string {
  if (act === 'erase') return 'erased';
  return Object.hasOwn(ACT_WORDS, act) ? ACT_WORDS[act as Act].done : act;
}

/** Through what somebody acted. */
export const VIA_WORDS = {
  page: 'on the page',
  cli: 'on the command line',
  code: 'in code',
} as const satisfies Record<EventAct['via'], string>;

/** The events of a list that an action would be done to. */
export interface ActedOn {
  readonly states: readonly EventState[];
  /** `null` where it cannot be told how many there are */
  readonly count: Pick<EventCount, 'count' | 'more'> | null;
}

/** What a button does to a whole list: `Rerun these 523 dead events`, and no number that is not known. */
export function actOnAll(act: Act, { states, count }: ActedOn, isOfAll: boolean): string {
  const [verb, after] = BUTTONS[act];
  const which = states.join(' or ');
  if (count === null) return `${verb} all ${which} events${isOfAll ? '' : ' that match'}${after}`;
  if (count.more) return `${verb} more than ${number(count.count)} ${which} events${after}`;
  if (count.count === 1) return `${verb} this ${which} event${after}`;
  return `${verb} these ${number(count.count)} ${which} events${after}`;
}

const BUTTONS = {
  rerun: ['Rerun', ''],
  discard: ['Discard', ''],
  'retry-now': ['Retry', ' now'],
} as const satisfies Record<Act, readonly [verb: string, after: string]>;
