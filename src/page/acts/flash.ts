import { number } from '../../ops/words/format.ts';
import { leftInLog } from '../../ops/words/log-words.ts';
import { sayings, type Sayings } from './sayings.ts';

/** What became of the log, as a figure. */
export const LOGS = [true, false, null] as const;

/** What an action came to, as the page that comes after it says. */
const SAYINGS = {
  rerun: () => 'The event is pending again. A processor for its type will handle it.',
  discarded: () => 'The event is discarded. To handle it after all, rerun it.',
  'retried-now': () =>
    'The event is due now. A processor for its type will handle it after any older events of its entity.',
  unknown: () => 'No event has this id. Nothing was done.',
  'not-needed': () => 'Nothing was done: this action does not apply to an event in this state.',
  'still-invalid': () =>
    'Nothing was done: the body still does not fit the current schemas. You can prune or erase the event.',
  pruned: () => 'Nothing was done: the body of the event was pruned, so no handler can run.',
  paused: () => 'The type is paused. Its events are stored and wait until you resume the type.',
  'paused-already': () => 'Nothing was done: the type is already paused.',
  resumed: () => 'The type is resumed. Processors handle its waiting events, oldest first.',
  'not-paused': () => 'Nothing was done: the type is not paused at this endpoint.',
  cancelled: () => 'The bulk action is cancelled. The remaining events are unchanged.',
  'events-pruned': ([events = 0]) => `${counted(events)} pruned: their bodies are deleted, and tombstones remain.`,
  pruning: () => 'Pruning continues even if you leave this page. The latest audit entry shows the progress.',
  erased: ([events = 0, inProcessing = 0, log = 0]) =>
    `${counted(events)} erased.` +
    (inProcessing === 0
      ? ''
      : ` ${counted(inProcessing)} being processed and not erased. Erase again when processing has finished.`) +
    sentenceAfter(leftInLog(LOGS[log] ?? null)),
  imported: ([imported = 0, known = 0, different = 0]) =>
    `${counted(imported)} imported; ${number(known)} more ${known === 1 ? 'was' : 'were'} already in the inbox` +
    (different === 0
      ? '.'
      : ` with the same body, and ${number(different)} with a different body. Those did not change.`),
} as const satisfies Sayings;

/** What can be said after an action. */
export type FlashCode = keyof typeof SAYINGS;

/** Writes and reads them. */
export const { withFlash, flashOf } = sayings(SAYINGS);

function sentenceAfter(sentence: string | null): string {
  return sentence === null ? '' : ` ${sentence}`;
}

function counted(events: number): string {
  return events === 1 ? '1 event was' : `${number(events)} events were`;
}
