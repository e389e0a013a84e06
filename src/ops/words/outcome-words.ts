import type { Act } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/filter.ts';
import { bulkFates, type BulkFate } from '../../inbox/operator/bulk-outcome.ts';
import type { BulkOutcome } from '../bulk-outcome.ts';
import { ACT_WORDS } from './act-words.ts';
import { listed, number, plural } from './format.ts';

/** How an event stands that a bulk act was done to. */
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

/** `Of 523 events that were rerun, 463 are processed and 60 are dead again.` */
export function outcomeInWords(act: Act, outcome: BulkOutcome): string {
  const { acted, counts, again, forgotten } = outcome;
  if (acted === 0) return `No event was ${ACT_WORDS[act].done}.`;
  const parts = presentFates(outcome).map(
    (fate) => `${number(counts[fate])} ${counts[fate] === 1 ? 'is' : 'are'} ${fateInWords(act, fate)}`,
  );
  const known = acted - forgotten;
  const sentences = [
    known > 0 &&
      `Of ${plural(acted, 'event')} that ${acted === 1 ? 'was' : 'were'} ${ACT_WORDS[act].done}, ${listed(parts)}.`,
    again > 0 &&
      `On ${number(again)} of them somebody has acted again since: ${again === 1 ? 'it counts as it stands' : 'they count as they stand'} now.`,
    forgotten > 0 &&
      `What became of ${known > 0 ? number(forgotten) : plural(forgotten, 'event')} is not known here any more: ` +
        'which events they were is kept for a week after a bulk act has ended.',
  ];
  return sentences.filter((sentence) => sentence !== false).join(' ');
}
