import { type Act, bulkFates, type BulkFate } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import type { BulkOutcome } from '../bulk-outcome.ts';
import { ACT_WORDS } from './act-words.ts';
import { number, plural } from './format.ts';

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
