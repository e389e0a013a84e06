import { deadReasons } from '../../inbox/event.ts';
import { oneLine } from '../../printable.ts';
import type { GroupSample } from '../group-samples.ts';
import { causeOfDeath } from './event-words.ts';

const MOST_OF_ERROR = 80;

/**
 * A group of events whose errors say the same, as people know it: by one of these errors, shortened. Its fingerprint belongs
 * in URLs and commands.
 *
 * @param sample - what was found of the group
 */
export function groupInWords(fingerprint: string, sample: GroupSample): string {
  // Where nobody has said anything, a group is of all that died of the same.
  const reason = deadReasons.find((each) => each === fingerprint);
  const error = sample === 'unasked' ? null : sample;
  if (error === null && reason === undefined) {
    return `${oneLine(fingerprint, 16)} (${sample === null ? 'no events now' : 'not looked up'})`;
  }
  return oneLine(causeOfDeath({ sample: error, reason: reason ?? 'failed' }), MOST_OF_ERROR);
}
