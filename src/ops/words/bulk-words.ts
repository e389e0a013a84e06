import type { Bulk } from '../../inbox/operator/acts.ts';
import { deadReasons } from '../../inbox/event.ts';
import { oneLine } from '../../printable.ts';
import { DEFAULT_ENDPOINT } from '../../processing/endpoint.ts';
import { ACT_WORDS } from './act-words.ts';
import { listed, number, percent, plural } from './format.ts';

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
