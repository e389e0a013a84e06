import { type EventState, deadReasons } from '../../inbox/event.ts';
import { type Act, type Bulk, bulkFates, type BulkFate } from '../../inbox/operator/acts.ts';
import type { EventAct } from '../../inbox/operator/audit.ts';
import type { EventCount, EventFilter } from '../../inbox/operator/search.ts';
import { oneLine } from '../../printable.ts';
import { DEFAULT_ENDPOINT } from '../../processing/endpoint.ts';
import type { BulkOutcome } from '../bulks.ts';
import { number, listed, percent, plural } from './format.ts';

export const ACT_WORDS = {
  rerun: {
    will: 'Will rerun',
    doing: 'Rerunning',
    did: 'Reran',
    wasTo: 'Would have rerun',
    done: 'rerun',
    notNeeded: 'unchanged: not dead, ignored or discarded',
    changed: 'unchanged: no longer in the expected state, for example because it was discarded',
  },
  discard: {
    will: 'Will discard',
    doing: 'Discarding',
    did: 'Discarded',
    wasTo: 'Would have discarded',
    done: 'discarded',
    notNeeded: 'unchanged: not dead or pending',
    changed: 'unchanged: no longer in the expected state, for example because it was rerun',
  },
  'retry-now': {
    will: 'Will retry',
    doing: 'Retrying',
    did: 'Retried',
    wasTo: 'Would have retried',
    done: 'retried now',
    notNeeded: 'unchanged: not pending, or already due',
    changed: 'unchanged: no longer in the expected state',
  },
} as const satisfies Record<Act, object>;

export function actInWords(act: EventAct['act']): string {
  if (act === 'erase') return 'erased';
  if (act === 'replay') return 'replayed';
  return Object.hasOwn(ACT_WORDS, act) ? ACT_WORDS[act as Act].done : act;
}

/** ` to http://localhost:4000/webhooks (accepted)`; empty for another action */
export function replayInWords({ replay }: EventAct): string {
  if (replay === undefined) return '';
  const answer = replay.result === 'sent' ? 'no response recorded' : replay.result;
  return ` to ${oneLine(replay.to, 200)} (${answer})`;
}

export const VIA_WORDS = {
  page: 'on the page',
  cli: 'on the command line',
  code: 'in code',
} as const satisfies Record<EventAct['via'], string>;

export interface ActedOn {
  readonly states: readonly EventState[];
  /** `null` if unknown */
  readonly count: Pick<EventCount, 'count' | 'more'> | null;
}

const EITHER = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** The label of a button for a whole list: `Rerun these 523 dead events`. */
export function actOnAll(act: Act, { states, count }: ActedOn, isOfAll: boolean): string {
  const verb = { rerun: 'Rerun', discard: 'Discard', 'retry-now': 'Retry now:' }[act];
  const which = act === 'retry-now' ? 'retrying' : EITHER.format(states);
  if (count === null) return `${verb} all ${which} events${isOfAll ? '' : ' that match'}`;
  if (count.more) return `${verb} more than ${number(count.count)} ${which} events`;
  return `${verb} ${count.count === 1 ? `this ${which} event` : `these ${number(count.count)} ${which} events`}`;
}

export function doneOf({ worked, total }: Pick<Bulk, 'worked' | 'total'>): number {
  return total === 0 ? 1 : worked / total;
}

export function stateInWords({ state, stopped, worked, total }: Bulk): string {
  switch (state) {
    case 'previewed':
      return 'previewed, not run';
    case 'running':
      if (stopped === null) return `running: ${percent(doneOf({ worked, total }))}`;
      return `stopped at ${number(worked)} of ${number(total)}${stopped === 'silent' ? ': its process ended' : ''}`;
    case 'paused':
      return `paused at ${number(worked)} of ${number(total)}`;
    case 'done':
      return 'done';
    case 'cancelled':
      return worked === 0 ? 'cancelled' : `cancelled after ${number(worked)}`;
  }
}

const APPLIES_TO = {
  rerun: '. A rerun includes dead events. It includes ignored and discarded events only if the filter names them',
  discard: '',
  'retry-now': '. Only events that failed and are waiting for their next attempt can be retried now',
} as const satisfies Record<Bulk['act'], string>;

export function sentenceOf(
  bulk: Pick<Bulk, 'act' | 'state' | 'force' | 'total' | 'breakdown'> & Partial<Pick<Bulk, 'counts' | 'filter'>>,
): string {
  const { act, state, total, force, counts = {}, filter } = bulk;
  const { done = 0 } = counts;
  if (total === 0 && filter?.events !== undefined) {
    const ask = act === 'rerun' && !force ? ' Processed events are rerun only if you include them.' : '';
    return `None of the selected events can be ${ACT_WORDS[act].done}.${ask}`;
  }
  if (total === 0) {
    return `No event matches the filter, so there is nothing to ${act.replace('-', ' ')}${force ? '' : APPLIES_TO[act]}.`;
  }
  const { will, doing, did, wasTo } = ACT_WORDS[act];
  const verb = { previewed: will, running: doing, paused: doing, done: did, cancelled: wasTo }[state];
  const events = plural(total, 'event');
  const which =
    state === 'done' && Object.keys(counts).length > 0 && done < total
      ? `${done === 0 ? 'none' : number(done)} of ${events}`
      : events;
  const previewed = state === 'previewed' ? `${invalidInWords(bulk)} Nothing has happened yet.` : '';
  const types = largestInWords(bulk.breakdown.types, (type) => oneLine(type, 60), 'of', 'other type');
  const what = [types, statesInWords(bulk), ...endpointsInWords(bulk)];
  return `${verb} ${which}: ${what.join('; ')}.${previewed}`;
}

function invalidInWords({ act, total, breakdown }: Pick<Bulk, 'act' | 'total' | 'breakdown'>): string {
  const { invalid = 0 } = breakdown.deadReasons;
  if (invalid === 0 || act === 'retry-now') return '';
  const which =
    invalid === total ? 'Each event is' : `The ${plural(invalid, 'invalid event')} ${invalid === 1 ? 'is' : 'are'}`;
  return ` ${which} parsed again with the current schemas; an event that still does not fit them stays dead (invalid).`;
}

/** `3 at live and 3 at test`; nothing if all events belong to the default endpoint. */
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

/** As of the preview: `all dead (failed)`, `8 dead (5 failed, 3 crashed) and 2 ignored`, later `all were dead (failed)`. */
function statesInWords({ state: now, breakdown, total }: Pick<Bulk, 'state' | 'breakdown' | 'total'>): string {
  const parts = Object.entries(breakdown.states)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => {
      const were = now === 'previewed' ? '' : count === 1 ? 'was ' : 'were ';
      const named = count === total && count > 1 ? `all ${were}${state}` : `${number(count)} ${were}${state}`;
      const reasons = deadReasons.flatMap((reason) => {
        const dead = breakdown.deadReasons[reason] ?? 0;
        return dead === 0 ? [] : dead === count ? reason : `${number(dead)} ${reason}`;
      });
      return state === 'dead' && reasons.length > 0 ? `${named} (${reasons.join(', ')})` : named;
    });
  return listed(parts);
}

export function fateInWords(act: Act, fate: BulkFate): string {
  if (fate === 'dead' && act === 'rerun') return 'dead again';
  if (fate === 'discarded' && act === 'discard') return 'still discarded';
  const words = { processing: 'being processed', waiting: 'waiting to be handled', retrying: 'waiting for a retry' };
  return { ...words, processed: fate, dead: fate, ignored: fate, discarded: fate, erased: fate }[fate];
}

/** `null` for erased events, which cannot be listed. */
export function filterOfFate(bulk: number, fate: BulkFate): EventFilter | null {
  if (fate === 'erased') return null;
  if (fate === 'waiting' || fate === 'retrying') return { bulk, states: ['pending'], retrying: fate === 'retrying' };
  return { bulk, states: [fate] };
}

export function presentFates({ counts }: Pick<BulkOutcome, 'counts'>): readonly BulkFate[] {
  return bulkFates.filter((fate) => counts[fate] > 0);
}

/** `463 are processed`: a link on the page. */
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
