import type { Count } from '../effects.ts';
import { unknown } from '../judge.ts';
import type { Finding } from '../report.ts';

export const BY_EFFECTS = 'judged by --effects';
export const BY_ANSWERS = 'judged by its own answers';

const HOW_TO_FIND_OUT =
  'Give --effects <url with {id}>: an address of yours, for the test only, that answers how many effects an event had, as ' +
  'a number or as {"count": n}. A row in your inbox is one, each run of your handler is one: answer the larger number.';

/** Nothing can be seen from outside without help. */
export function noEvidence(sent: string): Finding {
  return unknown(sent, 'a 2xx, which says nothing of it', {
    why: 'Whether an event is stored before the answer, and only once, cannot be seen from outside.',
    mend: HOW_TO_FIND_OUT,
  });
}

/** The address of the effects was no help. */
export function noEffects(sent: string, count: Exclude<Count, number> | 0, waitedMs: number): Finding {
  if (count === 0) {
    return unknown(sent, `a 2xx, and no effect within ${waitedMs / 1_000} s`, {
      why: 'Either the event was lost, or the address does not know its effects.',
      mend: 'Look for the event by its id. Let the address count rows in your inbox, so that the time of the work is no matter.',
    });
  }
  return unknown(sent, `a 2xx; the address of the effects: ${count.why}`, {
    why: 'How many effects the event had cannot be told.',
    mend: 'Let the address answer 200 with a number or {"count": n}, and 0 for an event without effects.',
  });
}
