import { parseTime } from '../../ops/words/read-time.ts';
import { usageError } from './exit.ts';

/**
 * The time that an option says: `2h` ago, `14:00`, a date, or a date-time; without a zone it is UTC.
 *
 * @throws CommandError that names the option
 */
export function timeOption(option: string, text: string, now = Date.now()): Date {
  const time = parseTime(text, now);
  if (time === null) {
    throw usageError(
      `${option} ${JSON.stringify(text)} must be a time: an age such as 2h or 7d, a time such as 14:00, or an ISO 8601 date.`,
    );
  }
  return time;
}
