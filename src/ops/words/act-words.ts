import { type EventState, deadReasons } from '../../inbox/event.ts';
import { type Act, type Bulk, bulkFates, type BulkFate } from '../../inbox/operator/acts.ts';
import type { EventAct } from '../../inbox/operator/audit.ts';
import type { EventCount, EventFilter } from '../../inbox/operator/search.ts';
import { oneLine } from '../../printable.ts';
import { DEFAULT_ENDPOINT } from '../../processing/endpoint.ts';
import type { BulkOutcome } from '../bulks.ts';
import { number, listed, percent, plural } from './format.ts';

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

/** How much of a bulk action is done, from 0 to 1. */
export function doneOf({ worked, total }: Bulk): number {
  return total === 0 ? 1 : worked / total;
}

/** How far a bulk action is, in a few words. */
export function stateInWords(bulk: Bulk): string {
  switch (bulk.state) {
    case 'previewed':
      return 'previewed, not run';
    case 'running':
      return bulk.stopped === null ? `running: ${percent(doneOf(bulk))}` : stoppedInWords(bulk);
    case 'done':
      return 'done';
    case 'cancelled':
      return bulk.worked === 0 ? 'cancelled' : `cancelled after ${number(bulk.worked)}`;
  }
}

/** Where one has come to that nobody runs any more, and how that was found. */
function stoppedInWords({ stopped, worked, total }: Bulk): string {
  const where = `stopped at ${number(worked)} of ${number(total)}`;
  return stopped === 'silent' ? `${where}: its process ended` : where;
}

/** What an action takes of what a filter finds, where that is not seen from its name. */
const TAKES = {
  rerun: '. A rerun includes dead events. It includes ignored and discarded events only if the filter names them',
  discard: '',
  'retry-now': '. Only events that failed and are waiting for their next attempt can be retried now',
} as const satisfies Record<Bulk['act'], string>;

const VERBS = { rerun: 'rerun', discard: 'discard', 'retry-now': 'retry now' } as const satisfies Record<
  Bulk['act'],
  string
>;

/** What will happen, or has happened, in one sentence. */
export function sentenceOf(
  bulk: Pick<Bulk, 'act' | 'state' | 'force' | 'total' | 'breakdown'> & Partial<Pick<Bulk, 'counts'>>,
): string {
  const { act, state, total, force, counts = {} } = bulk;
  const { done = 0 } = counts;
  if (total === 0) {
    return `No event matches the filter, so there is nothing to ${VERBS[act]}${force ? '' : TAKES[act]}.`;
  }
  const { will, does, did, wasTo } = ACT_WORDS[act];
  const verb = { previewed: will, running: does, done: did, cancelled: wasTo }[state];
  const events = plural(total, 'event');
  const which =
    state === 'done' && Object.keys(counts).length > 0 && done < total
      ? `${done === 0 ? 'none' : number(done)} of ${events}`
      : events;
  const previewed = state === 'previewed' ? `${invalidInWords(bulk)} Nothing has happened yet.` : '';
  const what = [typesInWords(bulk), statesInWords(bulk), ...endpointsInWords(bulk)];
  return `${verb} ${which}: ${what.join('; ')}.${previewed}`;
}

/** An invalid event is read again, and only then it is known whether the action can be done to it. */
function invalidInWords({ act, total, breakdown }: Pick<Bulk, 'act' | 'total' | 'breakdown'>): string {
  const { invalid = 0 } = breakdown.deadReasons;
  if (invalid === 0 || act === 'retry-now') return '';
  const which =
    invalid === total ? 'Each event is' : `The ${plural(invalid, 'invalid event')} ${invalid === 1 ? 'is' : 'are'}`;
  return ` ${which} parsed again with the current schemas; an event that still does not fit them stays dead (invalid).`;
}

function typesInWords({ breakdown }: Pick<Bulk, 'breakdown'>): string {
  return largestInWords(breakdown.types, (type) => oneLine(type, 60), 'of', 'other type');
}

/** `3 at live and 3 at test`; nothing where all are at the usual endpoint. */
function endpointsInWords({ breakdown, total }: Pick<Bulk, 'breakdown' | 'total'>): readonly string[] {
  const [first, second] = Object.keys(breakdown.endpoints);
  if (first === undefined || (second === undefined && first === DEFAULT_ENDPOINT)) return [];
  if (second === undefined && breakdown.endpoints[first] === total) return [`all at ${oneLine(first, 80)}`];
  return [largestInWords(breakdown.endpoints, (endpoint) => `at ${oneLine(endpoint, 80)}`, 'at', 'other endpoint')];
}

const SHOWN = 5;

function largestInWords(
  counts: Readonly<Record<string, number>>,
  nameOf: (name: string) => string,
  preposition: string,
  other: string,
): string {
  const largest = Object.entries(counts).sort(([, one], [, two]) => two - one);
  const rest = largest.slice(SHOWN);
  const shown = largest.slice(0, SHOWN).map(([name, count]) => `${number(count)} ${nameOf(name)}`);
  if (rest.length > 0) {
    const others = rest.reduce((sum, [, count]) => sum + count, 0);
    shown.push(`${number(others)} ${preposition} ${plural(rest.length, other)}`);
  }
  return listed(shown);
}

/** `all dead (failed)`, `8 dead (5 failed, 3 crashed) and 2 ignored`; as of the preview. */
function statesInWords({ breakdown, total }: Pick<Bulk, 'breakdown' | 'total'>): string {
  const states = Object.entries(breakdown.states).filter(([, count]) => count > 0);
  const parts = states.map(([state, count]) => {
    const named = count === total ? `all ${state}` : `${number(count)} ${state}`;
    return state === 'dead' ? `${named}${reasonsInWords(breakdown.deadReasons, count)}` : named;
  });
  return listed(parts);
}

function reasonsInWords(counts: Bulk['breakdown']['deadReasons'], dead: number): string {
  const reasons = deadReasons.filter((reason) => (counts[reason] ?? 0) > 0);
  const parts = reasons.map((reason) => {
    const count = counts[reason] ?? 0;
    return count === dead ? reason : `${number(count)} ${reason}`;
  });
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

/** How an event stands that a bulk action was done to. */
export function fateInWords(act: Act, fate: BulkFate): string {
  switch (fate) {
    case 'processed':
      return 'processed';
    case 'processing':
      return 'being processed';
    case 'waiting':
      return 'waiting to be handled';
    case 'retrying':
      return 'waiting for a retry';
    case 'dead':
      return act === 'rerun' ? 'dead again' : 'dead';
    case 'ignored':
      return 'ignored';
    case 'discarded':
      return act === 'discard' ? 'still discarded' : 'discarded';
    case 'erased':
      return 'erased';
  }
}

/** The events that stand so, as they are listed; `null` where they cannot be. */
export function filterOfFate(bulk: number, fate: BulkFate): EventFilter | null {
  switch (fate) {
    case 'erased':
      return null;
    case 'waiting':
      return { bulk, states: ['pending'], retrying: false };
    case 'retrying':
      return { bulk, states: ['pending'], retrying: true };
    case 'processed':
    case 'processing':
    case 'dead':
    case 'ignored':
    case 'discarded':
      return { bulk, states: [fate] };
  }
}

/** Those that there are any of. */
export function presentFates({ counts }: Pick<BulkOutcome, 'counts'>): readonly BulkFate[] {
  return bulkFates.filter((fate) => counts[fate] > 0);
}

/** `463 are processed`: a part of a sentence, which is a link on the page. */
export interface FateWords {
  readonly fate: BulkFate;
  readonly text: string;
}

/** `Of 523 events rerun, 463 are processed and 60 are dead again.` */
export function outcomeInWords(act: Act, outcome: BulkOutcome): string {
  return outcomeWords(act, outcome)
    .map((part) => (typeof part === 'string' ? part : part.text))
    .join('');
}

/** The same in parts. */
export function outcomeWords(act: Act, outcome: BulkOutcome): readonly (string | FateWords)[] {
  const { acted, counts, again, forgotten } = outcome;
  if (acted === 0) return [`No event was ${ACT_WORDS[act].done}.`];
  const fates = presentFates(outcome).map((fate) => {
    return { fate, text: `${number(counts[fate])} ${counts[fate] === 1 ? 'is' : 'are'} ${fateInWords(act, fate)}` };
  });
  const known = acted - forgotten;
  const begin = `Of ${plural(acted, 'event')} ${ACT_WORDS[act].done}, `;
  const rest = [
    again > 0 &&
      `Operators have since acted on ${number(again)} of these events; ` +
        `${again === 1 ? 'it is counted in its current state' : 'they are counted in their current states'}.`,
    forgotten > 0 &&
      `The outcome of ${plural(forgotten, 'event')} is no longer known: ` +
        'the list of its events is kept for only a week after a bulk action ends.',
  ];
  const sentences = rest.filter((sentence) => sentence !== false).join(' ');
  if (known <= 0) return [sentences];
  const parts = fates.flatMap((fate, n) => (n === 0 ? [fate] : [n === fates.length - 1 ? ' and ' : ', ', fate]));
  return [begin, ...parts, sentences === '' ? '.' : `. ${sentences}`];
}
