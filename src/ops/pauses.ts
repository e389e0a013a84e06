import { ConfigurationError } from '../errors.ts';
import { eventTypes, isEventType } from '../events/event-types.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import type { Lane, Pause, StoredPause } from '../inbox/operator/pauses.ts';
import { assertLane } from '../inbox/rules/pauses.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { oneLine } from '../printable.ts';
import { operationsOf } from './operations-of.ts';
import { nearest } from '../nearest.ts';

/** Where a type is paused or resumed. */
export interface PauseOptions {
  /** `default` unless given: each endpoint is paused by itself */
  readonly endpoint?: string;
}

export interface PauseTypeOptions extends PauseOptions {
  /**
   * also an unseen type: hookbox does not know it, no processor has handled it, and no event of it was found.
   * Without this such a type is refused, as it may be a typing error that pauses nothing
   */
  readonly unseen?: boolean;
}

const OPTIONS: KnownOptions<PauseOptions> = { endpoint: true };
const PAUSE: KnownOptions<PauseTypeOptions> = { ...OPTIONS, unseen: 'boolean' };

/**
 * Pauses a type: its events go on being received, stored and answered 200, and no processor on any machine begins to handle one
 * until `resumeType`. Handlers that run already end as they do, as does one whose event is just being taken, which may begin a
 * moment after. Nothing of it is ignored meanwhile, however long it takes, and newer events of the same entity wait for their
 * turn behind it, unless `ordering` is off. Deliveries that are handled inline are stored and answered 200, and wait for a
 * processor.
 *
 * Each process has to know pauses: a process with an older hookbox continues to handle the type.
 *
 * @returns the pause; `changed` is `false` where the type was paused already, which stays as it was
 * @throws ConfigurationError for an act without an operator's name, for a name that is empty or longer than 150 characters,
 * and, without `unseen`, for an unseen type
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
  options: PauseTypeOptions = {},
): Promise<{ readonly pause: StoredPause; readonly changed: boolean }> {
  assertOptions('pauseType', options, PAUSE);
  const lane = laneOf(type, options);
  assertLane(lane);
  if (options.unseen !== true) await assertSeen(inbox, type);
  return operationsOf(inbox).pauseType(lane, by);
}

async function assertSeen(inbox: AnyInbox, type: string): Promise<void> {
  if (isEventType(type)) return;
  const operations = operationsOf(inbox);
  const { handled } = await inbox.processors(Date.now());
  const known = new Set([...eventTypes, ...handled.map((each) => each.type).filter((each) => each !== '*')]);
  if (known.has(type)) return;
  // An index has the pending events; of the others it looks at the newest.
  for (const filter of [{ types: [type], states: ['pending'] }, { types: [type] }] as const) {
    if ((await operations.search(filter, { limit: 1 })).events.length > 0) return;
  }
  const near = nearest(type, [...known]).map((each) => oneLine(each, 80));
  const meant = near.length === 0 || near.length > MOST_MEANT ? '' : ` Did you mean ${near.join(' or ')}?`;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `Unknown type ${oneLine(JSON.stringify(type), 160)}: it has no processor and no events.${meant} To pause it anyway, set unseen (--unseen).`,
  );
}

const MOST_MEANT = 3;

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
