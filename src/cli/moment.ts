import { parseInstant } from '../events/instant.ts';
import { usageError } from './exit.ts';

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const AGO = /^(\d+)(s|m|h|d)$/;
const DATE = /^\d{4}-\d\d-\d\d$/;

/**
 * A moment as people name it: `2h` ago, a date, or a date-time; without a zone it is UTC.
 *
 * @throws CommandError that names the option
 */
export function momentOf(option: string, text: string, now = Date.now()): Date {
  const [, count, unit] = AGO.exec(text) ?? [];
  if (count !== undefined) return new Date(now - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  const instant = parseInstant(DATE.test(text) ? `${text}T00:00:00Z` : text);
  if (instant !== null) return new Date(instant.ms);
  throw usageError(`${option} ${JSON.stringify(text)} is no time. Write 30s, 15m, 2h or 7d, or an ISO 8601 date.`);
}
