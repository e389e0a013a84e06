import { ConfigurationError } from '../../errors.ts';
import { deadReasons, eventStates } from '../state.ts';
import type { EventFilter } from './filter.ts';
import { payloadPath } from './payload-path.ts';

const text = (value: unknown): boolean => typeof value === 'string';
const flag = (value: unknown): boolean => typeof value === 'boolean';
const moment = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime());
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
  types: listOf(text),
  states: listOf(oneOf(eventStates)),
  deadReasons: listOf(oneOf(deadReasons)),
  since: moment,
  until: moment,
  entity: text,
  merchant: text,
  error: text,
  fingerprint: text,
  ignoredSince: moment,
  retrying: flag,
  redelivered: flag,
  conflict: flag,
  payload: listOf(isPayloadCondition),
};

/**
 * Refuses a filter that says something else than it seems to: with a condition that is unknown or misspelt, it would find
 * more events than are meant, and acts on what is found cannot be taken back.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertFilter(filter: EventFilter): void {
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(checks, name)) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        `There is no condition ${JSON.stringify(name.slice(0, 100))}. There are ${Object.keys(checks).join(', ')}.`,
      );
    }
    if (!checks[name as keyof EventFilter](value)) {
      throw new ConfigurationError('INVALID_OPTION', `The condition ${name} cannot be read.`);
    }
  }
  for (const { path } of filter.payload ?? []) payloadPath(path);
}

function isPayloadCondition(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'path' in value &&
    text(value.path) &&
    'value' in value &&
    text(value.value)
  );
}
