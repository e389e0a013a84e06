import { FORMS, type NoCount } from '../effects-address.ts';
import { unknown } from '../judge-answers.ts';
import type { Finding } from '../check-report.ts';

/** What a verdict rests on: rows and runs, as the user's address tells them. */
export const BY_EFFECTS = 'judged by --effects';
/** The user's address tells rows alone. */
export const BY_ROWS = 'judged by the rows that the --effects URL reported; the number of handler runs is unknown';
/** hookbox says of each delivery whether it is a duplicate. */
export const BY_ANSWERS = 'judged by the responses of the endpoint';
/** An endpoint that keeps its events in memory would say the same. */
export const KNOWN_BY_ANSWERS =
  'judged by the responses of the endpoint: it recognised the event, but its responses do not show whether the event was on disk';

const HOW_TO_FIND_OUT =
  'Pass --effects with a URL that contains {id}. During the test only, serve {"rows": n, "count": n} at ' +
  'this URL. Here, rows is the number of rows that your inbox has for the event, and count is how often its ' +
  'handler has run.';

/** It cannot be seen from outside without help. */
export function noEvidence(sent: string): Finding {
  return unknown(sent, 'a 2xx, which does not show whether the event was stored', {
    why: 'From outside, hookbox cannot see whether the endpoint stores an event before it responds, or whether it stores each event only once.',
    mend: HOW_TO_FIND_OUT,
  });
}

/** The address of the effects was no help. */
export function noEffects(sent: string, { why }: NoCount): Finding {
  return unknown(sent, `a 2xx, but the --effects URL failed: ${why}`, {
    why: 'hookbox cannot count the effects of the event.',
    mend: `Make the --effects URL return 200 with ${FORMS}. For an event without effects, n is 0.`,
  });
}

/** There was nothing to count within the time. */
export function stillNothing(sent: string, waitedMs: number): Finding {
  return unknown(sent, `a 2xx, and no effect within ${waitedMs / 1_000} s`, {
    why: 'The event was lost, or the --effects URL does not report the effects of the event.',
    mend:
      'Search your inbox for the id of the event. If the --effects URL counts the rows of your inbox, it does ' +
      'not matter when the handler runs.',
  });
}

/** An effect that follows the answer and is not said to be a row. */
export function rowOrWork(sent: string, received: string): Finding {
  return unknown(sent, `${received}, which may be a row or a handler run`, {
    why: 'If the endpoint stores the event after it responds, a crash between the two loses the event. If only the handler runs after the response, the event is safe.',
    mend:
      'Make the --effects URL return {"rows": n, "count": n}: the rows in your inbox and the handler runs, ' +
      'counted separately.',
  });
}
