import type { EventSummary } from '../../inbox/operator/search.ts';
import { deadReasons } from '../../inbox/state.ts';
import { oneLine } from '../../printable.ts';
import { causeOfDeath } from './event-words.ts';

const MOST_OF_ERROR = 80;

/**
 * A group of events whose errors say the same, as people know it: by one of these errors, shortened. Its fingerprint belongs
 * in URLs and commands.
 *
 * @param sample - an error of the group; `null` where none is there any more
 */
export function groupInWords(fingerprint: string, sample: EventSummary['lastError']): string {
  // Where nobody has said anything, a group is of all that died of the same.
  const reason = deadReasons.find((each) => each === fingerprint);
  if (sample === null && reason === undefined) return `an error that is gone (${oneLine(fingerprint, 16)})`;
  return oneLine(causeOfDeath({ sample, reason: reason ?? 'failed' }), MOST_OF_ERROR);
}
