import type { Act } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/filter.ts';
import { bulkFates, type BulkFate } from '../../inbox/operator/bulk-outcome.ts';
import type { BulkOutcome } from '../bulk-outcome.ts';
import { ACT_WORDS } from './act-words.ts';
import { number, plural } from './format.ts';

/** How an event stands that a bulk action was done to. */
export function fateInWords(act: Act, fate: BulkFate): string {
  switch (fate) {
    case 'processed':
      return 'processed';
    case 'processing':
      return 'in processing';
    case 'waiting':
      return 'waiting for a handler';
    case 'retrying':
      return act === 'rerun' ? 'failed again and tried again later' : 'failed and tried again later';
    case 'dead':
      return act === 'rerun' ? 'dead again' : 'dead';
    case 'ignored':
      return 'ignored';
    case 'erased':
      return 'erased since';
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

/** `Of 523 events that were rerun, 463 are processed and 60 are dead again.` */
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
  const begin = `Of ${plural(acted, 'event')} that ${acted === 1 ? 'was' : 'were'} ${ACT_WORDS[act].done}, `;
  const rest = [
    again > 0 &&
      `On ${number(again)} of them somebody has acted again since: ${again === 1 ? 'it counts as it stands' : 'they count as they stand'} now.`,
    forgotten > 0 &&
      `What became of ${known > 0 ? number(forgotten) : plural(forgotten, 'event')} is not known here any more: ` +
        'which events they were is kept for a week after a bulk action has ended.',
  ];
  const sentences = rest.filter((sentence) => sentence !== false).join(' ');
  if (known <= 0) return [sentences];
  const parts = fates.flatMap((fate, n) => (n === 0 ? [fate] : [n === fates.length - 1 ? ' and ' : ', ', fate]));
  return [begin, ...parts, sentences === '' ? '.' : `. ${sentences}`];
}
