import type { Command } from 'commander';
import { hostname, userInfo } from 'node:os';
import { deadReasons, eventStates, type DeadReason, type EventState } from '../../inbox/event.ts';
import type { BodyCondition, By, EventFilter } from '../../ops/index.ts';
import { GROUP } from '../shared/command.ts';
import {
  collected,
  collectedFrom,
  optionalTime,
  present,
  wholeNumber,
  withDb,
  withWide,
  type DbOptions,
  type WideOptions,
} from '../shared/options.ts';
import { usageError } from '../shared/output.ts';

export interface InboxOptions extends DbOptions {
  readonly json?: boolean;
}

export function withInbox(json = 'print JSON'): (command: Command) => Command {
  return (command) => withDb(command.optionsGroup(GROUP.output).option('--json', json));
}

export interface NewestOptions extends InboxOptions, WideOptions {
  readonly limit: number;
  readonly before?: number;
}

export function withNewest(command: Command): Command {
  const paged = command
    .optionsGroup(GROUP.output)
    .option('--limit <n>', 'list at most this many entries', wholeNumber(1, 500), 50)
    .option(
      '--before <n>',
      'list entries with a number lower than this; for the next page, pass the last number shown',
      wholeNumber(0),
    );
  return withInbox('print one line of JSON per entry')(withWide(paged));
}

type TimeFilter = 'since' | 'until' | 'failedSince' | 'failedUntil' | 'ignoredSince';

export interface FilterOptions
  extends
    Omit<EventFilter, 'events' | 'types' | 'states' | 'deadReasons' | 'body' | 'bodyTextExcept' | TimeFilter>,
    Readonly<Partial<Record<TimeFilter, string>>> {
  readonly type?: readonly string[];
  readonly state?: readonly EventState[];
  readonly deadReason?: readonly DeadReason[];
  readonly body?: readonly string[];
}

export function withFilter(command: Command): Command {
  return command
    .optionsGroup(GROUP.events)
    .option('--type <type>', 'events of this type (repeatable)', collected)
    .option(
      '--state <state>',
      `events in this state: ${eventStates.join(', ')} (repeatable)`,
      collectedFrom(eventStates),
    )
    .option(
      '--since <time>',
      'events received at or after this time: an age (2h), a time today (14:00), or an ISO date (UTC)',
    )
    .option('--until <time>', 'events received before this time')
    .option('--error <text>', 'events whose last error contains this text in its name or message, ignoring case')
    .option('--entity <name>', 'events of this entity; give its name, or the id of the order, cart or product')
    .option('--merchant <id>', 'events whose data has this merchant_id')
    .option('--id <id>', 'events with exactly this id')
    .option('--text <text>', 'events with this text in the id, type, entity or last error, ignoring case')
    .option(
      '--body <path=value>',
      'events whose body has this value at this path, such as data.items[0].name=Tea (repeatable up to 8 times)',
      collected,
    )
    .option('--body-text <text>', 'events with this text in any value in the body, ignoring case')
    .option(
      '--fingerprint <group>',
      'the events in this group: dead events or, with --retrying, events that are waiting for a retry; "events list ' +
        '--groups" shows the groups',
    )
    .option(
      '--dead-reason <reason>',
      `events that are dead for this reason: ${deadReasons.join(', ')} (repeatable)`,
      collectedFrom(deadReasons),
    )
    .option(
      '--failed-since <time>',
      'events that are dead or waiting for a retry, and that last failed at or after this time',
    )
    .option(
      '--failed-until <time>',
      'events that are dead or waiting for a retry, and that last failed before this time',
    )
    .option('--retrying', 'events that are pending after a failure')
    .option('--redelivered', 'events delivered more than once')
    .option('--conflict', 'events whose id also arrived with a different body')
    .option('--superseded', 'events processed without a run because a newer one was waiting')
    .option('--ignored-since <time>', 'events ignored at or after this time because their type had no handler')
    .option(
      '--bulk <bulk-id>',
      'events changed by this bulk action; hookbox can find them for a week after it ends',
      wholeNumber(1),
    )
    .option('--endpoint <name>', 'events received at this endpoint (default: any)');
}

export interface ByOptions {
  readonly actor?: string;
  readonly reason?: string;
}

export function withBy(command: Command): Command {
  return command
    .optionsGroup(GROUP.audit)
    .option('--reason <text>', 'record this reason in the audit')
    .option('--actor <name>', 'record this name in the audit (default: your user name on this machine)');
}

export function eventFilterOf(options: FilterOptions): EventFilter {
  const time = (name: TimeFilter): Date | undefined => optionalTime(name, options[name]);
  return present({
    types: options.type,
    states: options.state,
    deadReasons: options.deadReason,
    since: time('since'),
    until: time('until'),
    failedSince: time('failedSince'),
    failedUntil: time('failedUntil'),
    body: options.body?.map(conditionOf),
    bodyText: options.bodyText,
    id: options.id,
    entity: options.entity,
    merchant: options.merchant,
    error: options.error,
    text: options.text,
    redelivered: options.redelivered,
    conflict: options.conflict,
    superseded: options.superseded,
    ignoredSince: time('ignoredSince'),
    retrying: options.retrying,
    fingerprint: options.fingerprint,
    endpoint: options.endpoint,
    bulk: options.bulk,
  });
}

export function isEverything(filter: EventFilter): boolean {
  return Object.keys(filter).length === 0;
}

function conditionOf(text: string): BodyCondition {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (path !== undefined && value !== undefined) return { path, value };
  throw usageError(`--body ${JSON.stringify(text)} must be path=value, such as data.total=12.50.`);
}

export function byOf({ actor = userAtHost(), reason }: ByOptions): By {
  return { actor, via: 'cli', ...(reason !== undefined && { reason }) };
}

export function userAtHost(): string {
  return `${userName()}@${hostname()}`;
}

/** In a container, a user id may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user-${process.getuid?.() ?? 'unknown'}`;
  }
}
