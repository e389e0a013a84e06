import type { EventAct } from '../../inbox/operator/audit.ts';
import type { Act } from '../../inbox/operator/acts.ts';

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
}

export const ACT_WORDS = {
  rerun: {
    will: 'Will rerun',
    does: 'Reruns',
    did: 'Reran',
    wasTo: 'Was to rerun',
    done: 'rerun',
    notNeeded: 'left alone: neither dead nor ignored by then',
  },
  discard: {
    will: 'Will discard',
    does: 'Discards',
    did: 'Discarded',
    wasTo: 'Was to discard',
    done: 'discarded',
    notNeeded: 'left alone: settled or in processing by then',
  },
  hurry: {
    will: 'Will hurry',
    does: 'Hurries',
    did: 'Hurried',
    wasTo: 'Was to hurry',
    done: 'hurried',
    notNeeded: 'left alone: due already, settled or in processing by then',
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
