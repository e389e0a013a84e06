import { readEvent } from '../../events/parse.ts';
import type { AttemptError } from '../work.ts';

/** A body that is larger is not read only to say what is wrong with it. */
export const MOST_READ_BYTES = 64 * 1024;

/** What today's schemas find wrong with an invalid event, which no handler has been given. */
export function invalidityOf(body: Uint8Array): Pick<AttemptError, 'name' | 'message'> {
  const { parsed } = readEvent(body);
  if (parsed.ok) return { name: 'InvalidEvent', message: 'the event fits the current schemas of hookbox; rerun it' };
  return { name: 'InvalidEvent', message: parsed.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ') };
}
