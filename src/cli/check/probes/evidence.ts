import { FORMS, type NoCount } from '../effects-address.ts';
import { unknown } from '../judge-answers.ts';
import type { Finding } from '../check-report.ts';

/** What a verdict rests on: rows and runs, as the user's address tells them. */
export const BY_EFFECTS = 'judged by --effects';
/** The user's address tells rows alone. */
export const BY_ROWS = 'judged by the rows that --effects reported; the number of handler runs is unknown';
/** hookbox says of each delivery whether it is a duplicate. */
export const BY_ANSWERS = 'judged by the answers of the endpoint';
/** An endpoint that keeps its events in memory would say the same. */
export const KNOWN_BY_ANSWERS =
  'judged by the answers of the endpoint: it knew the event, but the answers do not show whether it was on disk';

const HOW_TO_FIND_OUT =
  'Pass --effects <url with {id}>: an address of yours, only for the test, that answers {"rows": n, "count": n}: ' +
  'the number of rows for the event in your inbox, and the number of its handler runs.';

/** It cannot be seen from outside without help. */
export function noEvidence(sent: string): Finding {
  return unknown(sent, 'a 2xx, which does not show whether the event was stored', {
    why: 'From outside, hookbox cannot see whether the endpoint stores an event before it answers, and only once.',
    mend: HOW_TO_FIND_OUT,
  });
}

/** The address of the effects was no help. */
export function noEffects(sent: string, { why }: NoCount): Finding {
  return unknown(sent, `a 2xx; the address of --effects: ${why}`, {
    why: 'hookbox cannot count the effects of the event.',
    mend: `Make the address of --effects answer 200 with ${FORMS}, and 0 for an event without effects.`,
  });
}

/** There was nothing to count within the time. */
export function stillNothing(sent: string, waitedMs: number): Finding {
  return unknown(sent, `a 2xx, and no effect within ${waitedMs / 1_000} s`, {
    why: 'The event was lost, or the address does not report its effects.',
    mend:
      'Search for the event by its id. If the address counts the rows of your inbox, it does not matter when the ' +
      'work ' +
      'is done.',
  });
}

/** An effect that follows the answer and is not said to be a row. */
export function rowOrWork(sent: string, received: string): Finding {
  return unknown(sent, `${received}, which may be the row or the work`, {
    why:
      'An event that is stored after the answer can be lost between the two. If only the work is done after the ' +
      'answer, the event is safe.',
    mend:
      'Make the address of --effects answer {"rows": n, "count": n}, with separate counts for the rows in your inbox ' +
      'and the work.',
  });
}
