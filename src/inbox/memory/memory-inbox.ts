/**
 * An inbox that keeps events in memory, for tests.
 *
 * @module
 */
import { performance } from '../../host/real-timers.ts';
import { InboxUnavailableError } from '../../errors.ts';
import { assertLasting } from '../../host/ephemeral-host.ts';
import { assertOptions, type KnownOptions } from '../../known-options.ts';
import type { Inbox } from '../contract.ts';
import type { DefaultDatabase } from '../work.ts';
import type { StoredEvent } from '../event.ts';
import { accept } from '../queue-operations.ts';
import { occurrencesOf } from '../rules/accept.ts';
import { memoryStore } from './memory-store.ts';
import { Entries, type Entry } from './memory-entry.ts';
import { memoryQueue } from './memory-queue.ts';

/** The options of {@link memoryInbox}. */
export interface MemoryInboxOptions {
  /**
   * `true` allows this inbox on serverless hosts such as AWS Lambda. By default, `memoryInbox` throws on such hosts,
   * because events would be lost.
   *
   * @defaultValue `false`
   */
  readonly ephemeral?: boolean;
}

const OPTIONS: KnownOptions<MemoryInboxOptions> = { ephemeral: 'boolean' };

/**
 * Creates an inbox in memory, for tests and experiments. All events are lost when the process ends, and operators
 * cannot see them. Otherwise, this inbox behaves like the others.
 *
 * @typeParam Database - the database type that your handlers expect, by default SQLite's. A memory inbox has no
 * database, so a handler that uses the database in `ctx.transaction` gets an error
 * @throws ConfigurationError `INVALID_OPTION` for an unknown option
 * @throws InboxOpenError `EPHEMERAL_HOST` on a serverless host, unless `ephemeral` is `true`
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const receiver = createReceiver({ secret: 'a signing secret', inbox: memoryInbox() });
 * await receiver.close();
 * ```
 */
export function memoryInbox<Database = DefaultDatabase>(options?: MemoryInboxOptions): Inbox<Database>;
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox {
  assertOptions('memoryInbox', options, OPTIONS);
  const { ephemeral = false } = options;
  assertLasting('memoryInbox', ephemeral);
  const entries = new Entries();
  const store = memoryStore(entries);
  const { queue, notify } = memoryQueue(entries, store);
  let closed = false;

  async function close(): Promise<void> {
    closed = true;
  }

  return {
    ...queue,
    async accept(event, deadline, start) {
      if (closed) throw new InboxUnavailableError('CLOSED', 'the inbox is closed');
      if (performance.now() > deadline) throw new InboxUnavailableError('DEADLINE', 'the deadline has passed');
      const acceptance = accept(store, event, start);
      const isWaiting = acceptance.result === 'stored' && acceptance.started === undefined;
      if (isWaiting || acceptance.replaced) notify();
      return acceptance;
    },
    async get(key) {
      const entry = entries.find(key);
      return entry === undefined ? null : shown(entry);
    },
    async list({ after = 0, limit = 100 } = {}) {
      return entries.all.slice(after, after + limit).map(shown);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function shown(entry: Entry): StoredEvent {
  const { seq, endpoint, id, type, created, entity, verified, state, deadReason, body, receivedAt } = entry;
  const { redeliveries, conflicts, otherBody } = entry;
  return {
    seq,
    endpoint,
    id,
    type,
    created,
    entity,
    verified,
    state,
    deadReason,
    body: body && new Uint8Array(body),
    receivedAt,
    redeliveries: occurrencesOf(redeliveries),
    conflict: otherBody && { ...occurrencesOf(conflicts), body: new Uint8Array(otherBody) },
  };
}
