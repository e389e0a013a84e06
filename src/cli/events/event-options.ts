import type { Command } from 'commander';
import { deadReasons, eventStates, type DeadReason, type EventState } from '../../inbox/state.ts';
import { withDb, type DbOptions } from '../shared/db-option.ts';
import { withWide, type WideOptions } from '../shared/wide-option.ts';
import { collected, collectedFrom, wholeNumber } from '../shared/option-values.ts';

/** Where the inbox is, and how the answer is to read. */
export interface InboxOptions extends DbOptions {
  readonly json?: boolean;
}

/** Adds the options that every command on stored events has. */
export function withInbox(command: Command, json = 'print it as JSON'): Command {
  return withDb(command).option('--json', json);
}

/** What the arguments of a command that lists the newest of something say. */
export interface NewestOptions extends InboxOptions, WideOptions {
  readonly limit: number;
  readonly before?: number;
}

/** Adds the options of a list, the newest first. */
export function withNewest(command: Command): Command {
  const paged = command
    .option('--limit <n>', 'at most this many', wholeNumber(1, 500), 50)
    .option('--before <n>', 'older than this number, to go on', wholeNumber(0));
  return withInbox(withWide(paged), 'print one a line, as JSON');
}

/** Which events are meant, as options say it. */
export interface FilterOptions {
  readonly type?: readonly string[];
  readonly state?: readonly EventState[];
  readonly deadReason?: readonly DeadReason[];
  readonly since?: string;
  readonly until?: string;
  readonly failedSince?: string;
  readonly failedUntil?: string;
  readonly id?: string;
  readonly entity?: string;
  readonly merchant?: string;
  readonly error?: string;
  readonly text?: string;
  readonly redelivered?: boolean;
  readonly conflict?: boolean;
  readonly ignoredSince?: string;
  readonly retrying?: boolean;
  readonly body?: readonly string[];
  readonly fingerprint?: string;
  readonly bulk?: number;
  readonly endpoint?: string;
}

/** Adds the options of a filter. */
export function withFilter(command: Command): Command {
  return command
    .option('--type <type>', 'events of this type; may be repeated', collected)
    .option(
      '--state <state>',
      `events in this state (${eventStates.join(', ')}); may be repeated`,
      collectedFrom(eventStates),
    )
    .option(
      '--dead-reason <reason>',
      `dead events of this reason (${deadReasons.join(', ')}); may be repeated`,
      collectedFrom(deadReasons),
    )
    .option('--since <time>', 'received then or later: an age such as 2h, a time such as 14:00, or an ISO date (UTC)')
    .option('--until <time>', 'received before then')
    .option('--failed-since <time>', 'failed for the last time then or later: dead, or to be tried again')
    .option('--failed-until <time>', 'failed for the last time before then')
    .option('--id <id>', 'the event with exactly this id')
    .option('--entity <name>', 'about this entity: its name, or the id of an order, cart or product')
    .option('--merchant <id>', 'with this merchant_id in their data')
    .option('--error <text>', 'with this text in the name or message of the last error, in any case')
    .option('--text <text>', 'with this text in their id, type, what they are about or that error, in any case')
    .option('--redelivered', 'that came more than once')
    .option('--conflict', 'whose id also came with other bytes')
    .option('--ignored-since <time>', 'ignored then or later because nobody handled their type; not what was discarded')
    .option('--retrying', 'pending, and failed before')
    .option('--body <path=value>', 'with this value in the body: data.items[0].name=Tea; up to 8 times', collected)
    .option(
      '--fingerprint <group>',
      'of this group of dead events, or with --retrying of retries; hookbox events list --groups shows its name',
    )
    .option('--bulk <bulk-id>', 'that this act on many was done to; known for a week', wholeNumber(1))
    .option('--endpoint <name>', 'received at this endpoint; at any unless given');
}

/** Who acts, and why. */
export interface ByOptions {
  readonly actor?: string;
  readonly reason?: string;
}

/** Adds the options of what stands in the audit. */
export function withBy(command: Command): Command {
  return command
    .option('--reason <text>', 'why you do it, for the audit')
    .option('--actor <name>', 'who does it, for the audit; your name on this machine unless given');
}
