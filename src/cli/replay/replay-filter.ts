import type { EventState } from '../../inbox/event.ts';
import type { StoredEventFilter } from '../../ops/stored-events.ts';
import { usageError } from '../shared/exit.ts';
import { timeOption } from '../shared/time-option.ts';

/** What the arguments of `replay` say about which events are meant. */
export interface SelectionOptions {
  readonly endpoint: string;
  readonly all?: boolean;
  readonly type?: readonly string[];
  readonly state?: readonly EventState[];
  readonly since?: string;
  readonly until?: string;
  readonly after?: number;
  readonly skip?: number;
}

/**
 * The filter for stored events, or `null` where they are named one by one.
 *
 * @throws CommandError when nothing is said, or both ways are mixed
 */
export function filterOf(sources: readonly string[], options: SelectionOptions): StoredEventFilter | null {
  const { endpoint, all, type, state, since, until, after, skip } = options;
  const filtered = [all, type, state, since, until, after].some((option) => option !== undefined);
  if (sources.length > 0) {
    if (filtered) throw usageError('Pass event ids, files or folders, or use filters, but not both.');
    return null;
  }
  if (skip !== undefined)
    throw usageError('--skip works only with event ids, files and folders. With a filter, use --after.');
  if (!filtered) {
    throw usageError(
      'Select what to replay: pass event ids, files or folders, or use --all, --type, --state, --since, --until or --after.',
    );
  }
  return {
    endpoint,
    ...(type && { types: type }),
    ...(state && { states: state }),
    ...(since !== undefined && { since: timeOption('--since', since) }),
    ...(after !== undefined && { after }),
    ...(until !== undefined && { until: timeOption('--until', until) }),
  };
}
