import type { EventAct } from '../../inbox/operator/audit.ts';
import type { Act } from '../../inbox/operator/acts.ts';
import type { EventCount } from '../../inbox/operator/search.ts';
import type { EventState } from '../../inbox/state.ts';
import { number } from './format.ts';

/** How an act is said of events, wherever somebody is told of it. */
interface ActWords {
  /** what the preview says that will happen, and what is said of it later */
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
    does: 'Reruns',
    did: 'Reran',
    wasTo: 'Was to rerun',
    done: 'rerun',
    notNeeded: 'unchanged: neither dead nor ignored',
    changed: 'unchanged: in another state than you selected, such as discarded',
  },
  discard: {
    will: 'Will discard',
    does: 'Discards',
    did: 'Discarded',
    wasTo: 'Was to discard',
    done: 'discarded',
    notNeeded: 'unchanged: settled or in processing',
    changed: 'unchanged: in another state than you selected, such as rerun',
  },
  'retry-now': {
    will: 'Will retry',
    does: 'Retries',
    did: 'Retried',
    wasTo: 'Was to retry',
    done: 'retried now',
    notNeeded: 'unchanged: due, settled or in processing',
    changed: 'unchanged: in another state than you selected',
  },
} as const satisfies Record<Act, ActWords>;

/** What was done to an event by an act of the audit. */
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

/** The events of a list that an act would be done to. */
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
