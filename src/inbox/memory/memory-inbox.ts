import { createHash } from 'node:crypto';
import { InboxUnavailableError } from '../../errors.ts';
import { assertLasting } from '../../host/ephemeral-host.ts';
import { resolve } from '../rules/known-event.ts';
import type { Inbox } from '../contract.ts';
import type { Acceptance, EventKey, IncomingEvent, Occurrences, StoredEvent } from '../event.ts';
import { memoryWork } from './memory-work.ts';
import type { Entry } from './memory-entry.ts';

const RECENT = 20;
const NONE: Occurrences = { count: 0, firstAt: null, lastAt: null, recent: [] };

export interface MemoryInboxOptions {
  /** `true` allows it on hosts of functions, such as AWS Lambda, where it would be taken for an inbox that lasts */
  readonly ephemeral?: boolean;
}

/**
 * An inbox that forgets everything when the process ends: for tests and for trying things out. It keeps every promise of
 * the contract but durability.
 *
 * @throws InboxOpenError `EPHEMERAL_HOST` on a host of functions, unless `ephemeral: true` says that loss is meant
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const receiver = createReceiver({ secret: 'a signing secret', inbox: memoryInbox() });
 * await receiver.close();
 * ```
 */
export function memoryInbox({ ephemeral = false }: MemoryInboxOptions = {}): Inbox {
  assertLasting('memoryInbox', ephemeral);
  const entries: Entry[] = [];
  const byKey = new Map<string, Entry>();
  const { queue, notify } = memoryWork(entries, (key) => byKey.get(keyOf(key)));
  let closed = false;

  function accept(event: IncomingEvent): Acceptance {
    const key = keyOf(event);
    const known = byKey.get(key);
    if (known !== undefined) return acceptAgain(known, event);
    const entry: Entry = {
      ...contentOf(event),
      endpoint: event.endpoint,
      id: event.id,
      seq: entries.length + 1,
      receivedAt: new Date(event.receivedAt),
      redeliveries: NONE,
      conflict: null,
      dueAt: event.receivedAt,
      settledAt: event.receivedAt,
      failures: 0,
      crashes: 0,
      fence: 0,
      claimedAt: 0,
      leaseUntil: 0,
      fresh: event.valid,
      trigger: 'auto',
      attempts: [],
      attemptCount: 0,
      hash: null,
    };
    entries.push(entry);
    byKey.set(key, entry);
    return { result: 'stored', conflict: false, replaced: false };
  }

  async function close(): Promise<void> {
    closed = true;
  }

  return {
    ...queue,
    async accept(event, deadline) {
      if (closed) throw new InboxUnavailableError('CLOSED', 'the inbox is closed');
      if (performance.now() > deadline) throw new InboxUnavailableError('DEADLINE', 'the deadline has passed');
      const acceptance = accept(event);
      if (acceptance.result === 'stored' || acceptance.replaced) notify();
      return acceptance;
    },
    async get(key) {
      const entry = byKey.get(keyOf(key));
      return entry === undefined ? null : shown(entry);
    },
    async list({ after = 0, limit = 100 } = {}) {
      return entries.slice(after, after + limit).map(shown);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function acceptAgain(known: Entry, event: IncomingEvent): Acceptance {
  const now = new Date(event.receivedAt);
  const resolution = resolve(
    { state: known.state, invalid: known.deadReason === 'invalid', verified: known.verified },
    { ...event, sameBytes: isSameBody(known, event.body) },
  );
  known.redeliveries = again(known.redeliveries, now);
  switch (resolution) {
    case 'same':
      break;
    case 'verify':
      known.verified = true;
      break;
    case 'conflict':
      known.conflict = { ...again(known.conflict ?? NONE, now), body: Uint8Array.from(event.body) };
      break;
    case 'replace': {
      const displaced = known.body;
      if (displaced !== null && Buffer.compare(displaced, event.body) !== 0) {
        known.conflict = { ...again(known.conflict ?? NONE, now), body: displaced };
      }
      Object.assign(known, contentOf(event), { failures: 0, crashes: 0, fresh: event.valid });
      break;
    }
  }
  return { result: 'duplicate', conflict: resolution === 'conflict', replaced: resolution === 'replace' };
}

function shown(entry: Entry): StoredEvent {
  const { seq, endpoint, id, type, created, entity, verified, state, deadReason, body, receivedAt } = entry;
  const { redeliveries, conflict } = entry;
  const copy = (bytes: Uint8Array): Uint8Array => Uint8Array.from(bytes);
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
    body: body && copy(body),
    receivedAt,
    redeliveries,
    conflict: conflict && { ...conflict, body: copy(conflict.body) },
  };
}

/** A tombstone has lost its body but not the hash of it. */
function isSameBody(known: Entry, body: Uint8Array): boolean {
  if (known.body !== null) return Buffer.compare(known.body, body) === 0;
  return known.hash !== null && Buffer.compare(known.hash, createHash('sha256').update(body).digest()) === 0;
}

/** What a body says of its event, and the state that follows from it. */
function contentOf(event: IncomingEvent) {
  return {
    type: event.type,
    created: event.created,
    entity: event.entity,
    verified: event.verified,
    state: event.valid ? ('pending' as const) : ('dead' as const),
    deadReason: event.valid ? null : ('invalid' as const),
    // A copy: the caller may reuse its buffer.
    body: Uint8Array.from(event.body),
  };
}

function again(before: Occurrences, now: Date): Occurrences {
  return {
    count: before.count + 1,
    firstAt: before.firstAt ?? now,
    lastAt: now,
    recent: [...before.recent, now].slice(-RECENT),
  };
}

function keyOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}
