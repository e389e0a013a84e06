import type Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { StoredEvent } from '../../src/inbox/event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, invalidIncoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';

let database: Database.Database;
let inbox: Inbox;

beforeEach(() => {
  database = merchantDatabase();
  inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
});

describe('a tombstone', () => {
  it('still knows its event: the same bytes are a duplicate and nothing more', async () => {
    await inbox.accept(incoming({ body: 'first' }), later());
    bury('processed');
    expect(await inbox.accept(incoming({ body: 'first' }), later())).toEqual(duplicate());
    expect(await known()).toMatchObject({ state: 'processed', body: null, conflict: null, redeliveries: { count: 1 } });
  });

  it('tells other bytes by their hash: a conflict, and the other body is kept', async () => {
    await inbox.accept(incoming({ body: 'first' }), later());
    bury('processed');
    expect(await inbox.accept(incoming({ body: 'other' }), later())).toEqual(duplicate({ conflict: true }));
    const { body, conflict, state } = await known();
    expect([body, text(conflict?.body), state]).toEqual([null, 'other', 'processed']);
  });

  it('of an invalid event comes back to life with a valid body', async () => {
    await inbox.accept(invalidIncoming({ body: 'broken' }), later());
    bury('dead');
    expect(await inbox.accept(incoming({ body: 'mended' }), later())).toEqual(duplicate({ replaced: true }));
    const { body, ...rest } = await known();
    expect(text(body)).toBe('mended');
    expect(rest).toMatchObject({ state: 'pending', deadReason: null, conflict: null, type: 'order.created' });
  });
});

describe('an unverified event whose handler', () => {
  it.each([
    ['has succeeded', "state = 'processed', settled_ms = 1"],
    ['is running', "state = 'processing', claimed_ms = 1, lease_until_ms = 9999999999999"],
  ])('%s is not replaced by a verified one: what was handled stays on record', async (_, change) => {
    await inbox.accept(incoming({ body: 'claimed', verified: false }), later());
    database.exec(`UPDATE hookbox_events SET parked = 0, ${change}`);
    const { state } = await known();
    expect(await inbox.accept(incoming({ body: 'signed' }), later())).toEqual(duplicate({ conflict: true }));
    const { body, conflict, ...rest } = await known();
    expect([text(body), text(conflict?.body)]).toEqual(['claimed', 'signed']);
    expect(rest).toMatchObject({ state, verified: false });
  });

  it.each([
    ['has failed for the last time', "state = 'dead', dead_reason = 'failed', settled_ms = 1"],
    ['is not there', "state = 'ignored', settled_ms = 1"],
  ])('%s is replaced by a verified one, and pending', async (_, change) => {
    await inbox.accept(incoming({ body: 'claimed', verified: false }), later());
    database.exec(`UPDATE hookbox_events SET parked = 0, ${change}`);
    expect(await inbox.accept(incoming({ body: 'signed' }), later())).toEqual(duplicate({ replaced: true }));
    const { body, ...rest } = await known();
    expect(text(body)).toBe('signed');
    expect(rest).toMatchObject({ state: 'pending', deadReason: null, verified: true });
  });
});

describe('a redelivery of a settled event', () => {
  it.each([
    ['processed', "state = 'processed', settled_ms = 1"],
    ['dead', "state = 'dead', dead_reason = 'crashed', settled_ms = 1"],
    ['ignored', "state = 'ignored', settled_ms = 1"],
  ])('leaves it %s', async (state, change) => {
    await inbox.accept(incoming({ body: 'first' }), later());
    database.exec(`UPDATE hookbox_events SET parked = 0, ${change}`);
    expect(await inbox.accept(incoming({ body: 'first' }), later())).toEqual(duplicate());
    expect(await inbox.accept(incoming({ body: 'other' }), later())).toEqual(duplicate({ conflict: true }));
    expect(await known()).toMatchObject({ state, redeliveries: { count: 2 } });
  });
});

function bury(state: string): void {
  const body = database.prepare<[], Uint8Array>('SELECT body FROM hookbox_events').pluck().get();
  const hash = createHash('sha256')
    .update(body ?? '')
    .digest();
  database
    .prepare('UPDATE hookbox_events SET parked = 0, state = ?, settled_ms = 1, body = NULL, body_sha256 = ?')
    .run(state, hash);
}

function duplicate(facts: { conflict?: boolean; replaced?: boolean } = {}) {
  return { result: 'duplicate', conflict: false, replaced: false, ...facts };
}

async function known(): Promise<StoredEvent> {
  const event = await inbox.get({ endpoint: 'default', id: 'evt_1' });
  if (event === null) throw new Error('the event is gone');
  return event;
}

function text(body: Uint8Array | null | undefined): string | null {
  return body ? Buffer.from(body).toString() : null;
}
