import { number } from '../../ops/words/format.ts';
import { leftInLog } from '../../ops/words/log-words.ts';
import { sayings, type Sayings } from './sayings.ts';

/** What became of the log, as a figure. */
export const LOGS = [true, false, null] as const;

/** What an act came to, as the page that comes after it says. */
const SAYINGS = {
  rerun: () => 'The event is pending again. A processor that has a handler for its type takes it.',
  discarded: () => 'The event is put away: nobody handles it unless you rerun it.',
  'retried-now': () => 'The event is due now. A processor that has a handler for its type takes it, in its order.',
  unknown: () => 'There is no event of this id. Nothing was done.',
  'not-needed': () => 'Nothing was done: the event is in a state that this does not apply to.',
  'still-invalid': () =>
    'Nothing was done: the body of the event does not fit the schemas of today either. It can be pruned or erased.',
  pruned: () => 'Nothing was done: the body of the event was pruned, so there is nothing to run a handler with.',
  paused: () => 'Paused: its events are stored and wait until the type is resumed.',
  'paused-already': () => 'It was paused already, and stays as it was.',
  resumed: () => 'Resumed: processors take what has waited, the oldest first.',
  'not-paused': () => 'Nothing was done: that type is not paused at this endpoint.',
  cancelled: () => 'Cancelled: events that it had not come to are left as they are.',
  'events-pruned': ([events = 0]) => `${counted(events)} pruned: the bodies are gone, the tombstones stay.`,
  pruning: () =>
    'The prune goes on when you leave this page. Its line below says how many events it has pruned so far.',
  erased: ([events = 0, inProcessing = 0, log = 0]) =>
    `${counted(events)} erased.` +
    (inProcessing === 0
      ? ''
      : ` ${counted(inProcessing)} in processing and left as they are: erase again when the handlers have ended.`) +
    sentenceAfter(leftInLog(LOGS[log] ?? null)),
  imported: ([imported = 0, known = 0, different = 0]) =>
    `${counted(imported)} imported; ${number(known)} were here already` +
    (different === 0 ? '.' : `, and ${number(different)} with other bytes, which were left as they are.`),
} as const satisfies Sayings;

/** What can be said after an act. */
export type FlashCode = keyof typeof SAYINGS;

/** Writes and reads them. */
export const { withFlash, flashOf } = sayings(SAYINGS);

function sentenceAfter(sentence: string | null): string {
  return sentence === null ? '' : ` ${sentence}`;
}

function counted(events: number): string {
  return events === 1 ? '1 event was' : `${number(events)} events were`;
}
