import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import type { Lane, Pause, StoredPause } from '../inbox/operator/pauses.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { operationsOf } from './operations-of.ts';

/** Where a type is paused or resumed. */
export interface PauseOptions {
  /** `default` unless given: each endpoint is paused by itself */
  readonly endpoint?: string;
}

const OPTIONS: KnownOptions<PauseOptions> = { endpoint: true };

/**
 * Pauses a type: its events go on being received, stored and answered 200, and no processor on any machine begins to handle one
 * until `resumeType`. Handlers that run already end as they do, as does one whose event is just being taken, which may begin a
 * moment after. Nothing of it is ignored meanwhile, however long it takes, and newer events of the same entity wait for their
 * turn behind it, unless `ordering` is off. Deliveries that are handled inline are stored and answered 200, and wait for a
 * processor.
 *
 * Each process has to know pauses: one with an older hookbox goes on handling the type.
 *
 * @returns the pause; `changed` is `false` where the type was paused already, which stays as it was
 * @throws ConfigurationError for an act of nobody, and for a name that is empty or longer than 150 characters
 * @throws InboxUnavailableError when nothing was done
 * @example
 * ```ts
 * import { pauseType } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { changed } = await pauseType(inbox, 'order.created', { actor: 'ada', reason: 'the till is down' });
 * console.log(changed); // true
 * ```
 */
export async function pauseType(
  inbox: AnyInbox,
  type: string,
  by: By,
  options: PauseOptions = {},
): Promise<{ readonly pause: StoredPause; readonly changed: boolean }> {
  assertOptions('pauseType', options, OPTIONS);
  return operationsOf(inbox).pauseType(laneOf(type, options), by);
}

/**
 * Ends a pause: processors take what has waited, the oldest first, within about a second.
 *
 * @returns the pause that has ended, or `null` where the type was not paused
 * @throws ConfigurationError for an act of nobody
 * @throws InboxUnavailableError when nothing was done
 * @example
 * ```ts
 * import { resumeType } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * console.log(await resumeType(inbox, 'order.created', { actor: 'ada' })); // null
 * ```
 */
export async function resumeType(
  inbox: AnyInbox,
  type: string,
  by: By,
  options: PauseOptions = {},
): Promise<StoredPause | null> {
  assertOptions('resumeType', options, OPTIONS);
  return operationsOf(inbox).resumeType(laneOf(type, options), by);
}

/**
 * What is paused, since when, by whom and why, and how many events wait for its end; by endpoint and type.
 *
 * @throws ConfigurationError for an inbox that cannot be looked into
 * @example
 * ```ts
 * import { pausedTypes } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { type, since, actor, waiting } of await pausedTypes(inbox)) {
 *   console.log(`${type} is paused since ${since.toISOString()} by ${actor}; ${waiting} wait`);
 * }
 * ```
 */
export async function pausedTypes(inbox: AnyInbox): Promise<readonly Pause[]> {
  return operationsOf(inbox).pausedTypes();
}

function laneOf(type: string, { endpoint = 'default' }: PauseOptions): Lane {
  return { endpoint, type };
}
