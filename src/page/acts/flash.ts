import { number } from '../../ops/words/format.ts';
import { leftInLog } from '../../ops/erase.ts';

/** The log after an erasure; its place here is the figure in a URL. */
export const LOGS = [true, false, null] as const;

const NOTICES = {
  rerun: () => 'The event is pending again. A processor for its type will handle it.',
  discarded: () => 'The event is discarded, and no handler runs. You can rerun it later.',
  'retried-now': () =>
    'The event is due now. A processor for its type will handle it after any older events of its entity.',
  unknown: () => 'No event has this id. Nothing was done.',
  'not-needed': () => 'Nothing was done: this action does not apply to an event in this state.',
  'still-invalid': () =>
    'Nothing was done: the body still does not fit the current schemas. Correct your schema and rerun the event, or prune or erase it.',
  pruned: () => 'Nothing was done: the body of the event was pruned, so no handler can run.',
  paused: () => 'The type is paused. Its events are stored and wait until you resume the type.',
  resumed: () => 'The type is resumed. Processors handle its waiting events, oldest first.',
  acknowledged: () => 'The group is acknowledged. It reopens when another of its events becomes dead.',
  reopened: () => 'The group is reopened.',
  'bulk-paused': () => 'The bulk action is paused. The remaining events are unchanged until you resume it.',
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
} as const satisfies Notices;

export type FlashCode = keyof typeof NOTICES;

export const { withFlash, flashOf } = notices(NOTICES);

function sentenceAfter(sentence: string | null): string {
  return sentence === null ? '' : ` ${sentence}`;
}

function counted(events: number): string {
  return events === 1 ? '1 event was' : `${number(events)} events were`;
}

export type Notices = Readonly<Record<string, (figures: readonly number[]) => string>>;

export interface Flash<Code extends string> {
  readonly withFlash: (path: string, code: Code, ...figures: readonly number[]) => string;
  readonly flashOf: (url: URL) => string | null;
}

/** URLs have a code and figures, because a text would let the author of a link put words on the page. */
export function notices<S extends Notices>(said: S): Flash<keyof S & string> {
  return {
    withFlash(path, code, ...figures) {
      const query = new URLSearchParams({ done: code, ...(figures.length > 0 && { figures: figures.join('.') }) });
      return `${path}?${query.toString()}`;
    },
    flashOf({ searchParams }) {
      const code = searchParams.get('done') ?? '';
      const figures = searchParams.get('figures') ?? '';
      const say = Object.hasOwn(said, code) ? said[code] : undefined;
      if (say === undefined || !/^[\d.]{0,60}$/.test(figures)) return null;
      return say(figures === '' ? [] : figures.split('.').map(Number));
    },
  };
}
