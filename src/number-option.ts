import { ConfigurationError } from './errors.ts';

/** A timer that is set for longer fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** @throws ConfigurationError `INVALID_OPTION` for anything but a number above 0 and up to `most` */
export function positive(name: string, value: number, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && value > 0 && value <= most) return value;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `${name} must be a number above 0 and at most ${most}, not ${String(value)}.`,
  );
}

/** @throws ConfigurationError `INVALID_OPTION` for what is not whole either */
export function positiveWhole(name: string, value: number, most = Number.MAX_SAFE_INTEGER): number {
  if (positive(name, value, most) === Infinity || Number.isInteger(value)) return value;
  throw new ConfigurationError('INVALID_OPTION', `${name} must be a whole number, not ${value}.`);
}
