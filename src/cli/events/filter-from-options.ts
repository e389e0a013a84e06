import type { EventFilter, BodyCondition } from '../../ops/index.ts';
import { usageError } from '../shared/exit.ts';
import { timeOption } from '../shared/time-option.ts';
import type { FilterOptions } from './event-options.ts';

/**
 * The filter that options name.
 *
 * @throws CommandError for a time or a condition that cannot be read
 */
export function eventFilterOf(options: FilterOptions): EventFilter {
  const { type, state, deadReason, since, until, body } = options;
  const { id, entity, merchant, error, redelivered, conflict, retrying, fingerprint, endpoint, bulk } = options;
  const { failedSince, failedUntil, ignoredSince, text } = options;
  return {
    ...(type && { types: type }),
    ...(state && { states: state }),
    ...(deadReason && { deadReasons: deadReason }),
    ...(since !== undefined && { since: timeOption('--since', since) }),
    ...(until !== undefined && { until: timeOption('--until', until) }),
    ...(failedSince !== undefined && { failedSince: timeOption('--failed-since', failedSince) }),
    ...(failedUntil !== undefined && { failedUntil: timeOption('--failed-until', failedUntil) }),
    ...(body && { body: body.map(conditionOf) }),
    ...(id !== undefined && { id }),
    ...(entity !== undefined && { entity }),
    ...(merchant !== undefined && { merchant }),
    ...(error !== undefined && { error }),
    ...(text !== undefined && { text }),
    ...(redelivered !== undefined && { redelivered }),
    ...(conflict !== undefined && { conflict }),
    ...(ignoredSince !== undefined && { ignoredSince: timeOption('--ignored-since', ignoredSince) }),
    ...(retrying !== undefined && { retrying }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(endpoint !== undefined && { endpoint }),
    ...(bulk !== undefined && { bulk }),
  };
}

/** Whether a filter leaves nothing out. */
export function isEverything(filter: EventFilter): boolean {
  return Object.keys(filter).length === 0;
}

function conditionOf(text: string): BodyCondition {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (path === undefined || value === undefined) {
    throw usageError(`--body ${JSON.stringify(text)} must be path=value, such as data.total=12.50.`);
  }
  return { path, value };
}
