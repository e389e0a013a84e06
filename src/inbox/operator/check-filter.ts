import { ConfigurationError } from '../../errors.ts';
import type { EventKey } from '../event.ts';
import { deadReasons, eventStates } from '../state.ts';
import type { EventFilter, BodyCondition } from './filter.ts';
import { bodyPath } from './body-path.ts';

/** Each of them is looked for in bodies, which may be large. */
const MOST_BODY_CONDITIONS = 8;
/** More than anybody needs. A filter may come from a viewer, and must not keep the process busy. */
const MOST_LISTED = 100;
export const LONGEST_TEXT = 1_000;

const text = (value: unknown): boolean => typeof value === 'string';
const flag = (value: unknown): boolean => typeof value === 'boolean';
const time = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime());
const listOf =
  (fits: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every((one) => fits(one));
const oneOf =
  (names: readonly string[]) =>
  (value: unknown): boolean =>
    names.some((name) => name === value);

const checks: Readonly<Record<keyof EventFilter, (value: unknown) => boolean>> = {
  endpoint: text,
  id: text,
  events: listOf(isEventKey),
  types: listOf(text),
  states: listOf(oneOf(eventStates)),
  deadReasons: listOf(oneOf(deadReasons)),
  since: time,
  until: time,
  failedSince: time,
  failedUntil: time,
  entity: text,
  merchant: text,
  error: text,
  text,
  fingerprint: text,
  ignoredSince: time,
  retrying: flag,
  redelivered: flag,
  conflict: flag,
  bulk: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  body: listOf(isBodyCondition),
};

/**
 * Refuses a filter that says something else than it seems to: with a condition that is unknown or misspelt, it would find
 * more events than are meant, and actions on them cannot be undone. Refuses one, too, that asks for more than a
 * search should be asked for.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertFilter(filter: EventFilter): void {
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(checks, name)) {
      throw refused(
        `Unknown filter condition ${JSON.stringify(name.slice(0, 100))}. Allowed: ${Object.keys(checks).join(', ')}.`,
      );
    }
    // Before each of them is looked at: there may be very many.
    if (Array.isArray(value)) assertFew(name, value.length);
    if (!checks[name as keyof EventFilter](value)) throw refused(`The filter condition ${name} has an invalid value.`);
    if (textsOf(value).some((one) => one.length > LONGEST_TEXT)) {
      throw refused(`The filter condition ${name} must have at most ${LONGEST_TEXT} characters.`);
    }
  }
  for (const { path } of filter.body ?? []) bodyPath(path);
}

/** Why a filter would be refused, or `null`. */
export function filterFault(filter: EventFilter): string | null {
  try {
    assertFilter(filter);
    return null;
  } catch (failure) {
    if (failure instanceof ConfigurationError) return failure.message;
    throw failure;
  }
}

function assertFew(name: string, count: number): void {
  const most = name === 'body' ? MOST_BODY_CONDITIONS : MOST_LISTED;
  if (count <= most) return;
  throw refused(`The filter condition ${name} must have at most ${most} values, not ${count}.`);
}

/** Every text in a condition that was checked. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (isEventKey(value)) return [value.endpoint, value.id];
  return isBodyCondition(value) ? [value.path, value.value] : [];
}

function refused(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}

function isEventKey(value: unknown): value is EventKey {
  return (
    typeof value === 'object' &&
    value !== null &&
    'endpoint' in value &&
    text(value.endpoint) &&
    'id' in value &&
    text(value.id)
  );
}

function isBodyCondition(value: unknown): value is BodyCondition {
  return (
    typeof value === 'object' &&
    value !== null &&
    'path' in value &&
    text(value.path) &&
    'value' in value &&
    text(value.value)
  );
}
