import type { Bulk } from '../../inbox/operator/acts.ts';
import { deadReasons } from '../../inbox/state.ts';
import { oneLine } from '../../printable.ts';
import { ACT_WORDS } from './act-words.ts';
import { listed, number, percent, plural } from './format.ts';

/** How much of a bulk act is done, from 0 to 1. */
export function doneOf({ worked, total }: Bulk): number {
  return total === 0 ? 1 : worked / total;
}

/** How far a bulk act is, in a few words. */
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
  return stopped === 'silent' ? `${where}: its process ended without a word` : where;
}

/** What an act takes of what a filter finds, where that is not seen from its name. */
const TAKES = {
  rerun: '. A rerun takes dead events, and ignored ones where the filter names that state',
  discard: '',
  hurry: '. What is hurried has failed and waits for its next attempt',
} as const satisfies Record<Bulk['act'], string>;

/** What will happen, or has happened, in one sentence. */
export function sentenceOf(
  bulk: Pick<Bulk, 'act' | 'state' | 'force' | 'total' | 'breakdown'> & Partial<Pick<Bulk, 'counts'>>,
): string {
  const { act, state, total, force, counts = {} } = bulk;
  const { done = 0 } = counts;
  if (total === 0) {
    return `No event fits: there is nothing to ${act}${force ? '' : TAKES[act]}.`;
  }
  const { will, does, did, wasTo } = ACT_WORDS[act];
  const verb = { previewed: will, running: does, done: did, cancelled: wasTo }[state];
  const events = plural(total, 'event');
  const which =
    state === 'done' && Object.keys(counts).length > 0 && done < total
      ? `${done === 0 ? 'none' : number(done)} of ${events}`
      : events;
  const previewed = state === 'previewed' ? `${invalidInWords(bulk)} Nothing has happened yet.` : '';
  return `${verb} ${which}: ${typesInWords(bulk)}; ${statesInWords(bulk)}.${previewed}`;
}

/** An invalid event is read again, and only then it is known whether the act can be done to it. */
function invalidInWords({ act, total, breakdown }: Pick<Bulk, 'act' | 'total' | 'breakdown'>): string {
  const { invalid = 0 } = breakdown.deadReasons;
  if (invalid === 0 || act === 'hurry') return '';
  const [which, each] = invalid === total ? ['', 'Each'] : [` The ${number(invalid)} invalid:`, 'each'];
  return `${which} ${each} is read again by today’s schemas. What still does not fit is left as it is: dead (invalid).`;
}

const TYPES_SHOWN = 5;

function typesInWords({ breakdown }: Pick<Bulk, 'breakdown'>): string {
  const types = Object.entries(breakdown.types).sort(([, one], [, other]) => other - one);
  const rest = types.slice(TYPES_SHOWN);
  const shown = types.slice(0, TYPES_SHOWN).map(([type, count]) => `${number(count)} ${oneLine(type, 60)}`);
  if (rest.length > 0) {
    const others = rest.reduce((sum, [, count]) => sum + count, 0);
    shown.push(`${number(others)} of ${plural(rest.length, 'other type')}`);
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
