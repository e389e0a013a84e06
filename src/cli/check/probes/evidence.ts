import { FORMS, type NoCount } from '../effects-address.ts';
import { unknown } from '../judge-answers.ts';
import type { Finding } from '../check-report.ts';

/** What a verdict rests on: rows and runs, as the user's address tells them. */
export const BY_EFFECTS = 'judged by --effects';
/** The user's address tells rows alone. */
export const BY_ROWS = 'judged by the rows that --effects tells; how often its handler ran, nobody says';
/** hookbox says of each delivery whether it is a duplicate. */
export const BY_ANSWERS = 'judged by its own answers';
/** An endpoint that keeps its events in memory would say the same. */
export const KNOWN_BY_ANSWERS = 'by its own answers: known when it was answered; whether on disk, they cannot show';

const HOW_TO_FIND_OUT =
  'Give --effects <url with {id}>: an address of yours, for the test only, that answers {"rows": n, "count": n}: how many ' +
  'rows in your inbox an event has, and how often its handler ran.';

/** It cannot be seen from outside without help. */
export function noEvidence(sent: string): Finding {
  return unknown(sent, 'a 2xx, which says nothing of it', {
    why: 'Whether an event is stored before the answer, and only once, cannot be seen from outside.',
    mend: HOW_TO_FIND_OUT,
  });
}

/** The address of the effects was no help. */
export function noEffects(sent: string, { why }: NoCount): Finding {
  return unknown(sent, `a 2xx; the address of the effects: ${why}`, {
    why: 'How many effects the event had cannot be told.',
    mend: `Let the address answer 200 with ${FORMS}, and 0 for an event without effects.`,
  });
}

/** There was nothing to count within the time. */
export function stillNothing(sent: string, waitedMs: number): Finding {
  return unknown(sent, `a 2xx, and no effect within ${waitedMs / 1_000} s`, {
    why: 'Either the event was lost, or the address does not know its effects.',
    mend: 'Look for the event by its id. Let the address count rows in your inbox, so that it does not matter when the work is done.',
  });
}

/** An effect that follows the answer and is not said to be a row. */
export function rowOrWork(sent: string, received: string): Finding {
  return unknown(sent, `${received}, which may be the row or the work`, {
    why: 'Stored after the answer, the event could be lost between the two. Only worked on after the answer, it is safe.',
    mend: 'Let the address of --effects answer {"rows": n, "count": n}, the rows in your inbox apart from the work.',
  });
}
