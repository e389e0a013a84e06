import type Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, invalidIncoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';

let database: Database.Database;

beforeEach(async () => {
  database = merchantDatabase();
  await using inbox = sqliteInbox({ database });
  for (const body of ['first', 'other']) {
    await inbox.accept(incoming({ id: 'valid', body }), later());
    await inbox.accept(invalidIncoming({ id: 'invalid', body }), later());
  }
});

const PENDING = "id = 'valid'";
const PROCESSING = "state = 'processing', claimed_ms = 1, lease_until_ms = 2";
const PROCESSED = "state = 'processed', settled_ms = 1";
const DEAD = "state = 'dead', dead_reason = 'failed', settled_ms = 1";
const IGNORED = "state = 'ignored', settled_ms = 1";
const DISCARDED = "state = 'discarded', settled_ms = 1";
const TOMBSTONE = "state = 'processed', settled_ms = 1, body = NULL, body_sha256 = x'00'";

const constraints: Record<string, readonly string[]> = {
  dead_events_have_a_reason: [
    "state = 'dead', settled_ms = 1",
    "dead_reason = 'failed'",
    `${PROCESSED}, dead_reason = 'crashed'`,
  ],
  events_in_processing_have_a_lease: ["state = 'processing', claimed_ms = 1", "state = 'processing'"],
  only_running_events_have_a_lease: [
    'claimed_ms = 1, lease_until_ms = 2',
    `${DEAD}, claimed_ms = 1, lease_until_ms = 2`,
  ],
  leases_have_a_start: ["state = 'processing', lease_until_ms = 2", `${PROCESSED}, claimed_ms = 1`],
  only_pending_events_are_parked: [`${PROCESSED}, parked = 1`, `${DEAD}, parked = 1`, `${PROCESSING}, parked = 1`],
  settled_events_have_a_time: [
    "state = 'processed'",
    "state = 'dead', dead_reason = 'failed'",
    "state = 'ignored'",
    "state = 'discarded'",
    'settled_ms = 1',
    `${PROCESSING}, settled_ms = 1`,
  ],
  valid_events_have_a_type_and_a_time: [
    'type = NULL',
    'created_ms = NULL',
    'created_ns = NULL',
    `${DEAD}, type = NULL`,
    `${PROCESSED}, created_ms = NULL`,
    `${TOMBSTONE}, type = NULL`,
    `${IGNORED}, body = NULL, body_sha256 = x'', type = NULL`,
    `${DISCARDED}, type = NULL`,
  ],
  tombstones_keep_a_hash: [`${PROCESSED}, body = NULL`, `${PROCESSED}, body_sha256 = x'00'`, "body_sha256 = x'00'"],
  only_settled_events_become_tombstones: [
    "body = NULL, body_sha256 = x'00'",
    `${PROCESSING}, body = NULL, body_sha256 = x'00'`,
  ],
};

describe('hookbox_events lets in', () => {
  it.each([
    PENDING,
    PROCESSING,
    PROCESSED,
    `${PROCESSED}, claimed_ms = 1, lease_until_ms = 2`,
    DEAD,
    IGNORED,
    DISCARDED,
    TOMBSTONE,
    "state = 'processed', settled_ms = 1, body = NULL, body_sha256 = x'', type = NULL, created_ms = NULL",
    'parked = 1',
  ])('an event with %s', (change) => {
    expect(update(change)).toBe(1);
  });

  it('an invalid event without a type and a time', () => {
    const row = database.prepare("SELECT type, created_ms, created_ns FROM hookbox_events WHERE id = 'invalid'").get();
    expect(row).toEqual({ type: null, created_ms: null, created_ns: null });
  });
});

describe('hookbox_events keeps out what breaks', () => {
  const cases = Object.entries(constraints).flatMap(([name, changes]) => changes.map((change) => [name, change]));

  it.each(cases)('%s: %s', (name = '', change = '') => {
    expect(() => update(change)).toThrow(`CHECK constraint failed: ${name}`);
  });

  it('any of its named constraints: each one has a case above', () => {
    const [sql = ''] = database
      .prepare<[], string>("SELECT sql FROM sqlite_master WHERE name = 'hookbox_events'")
      .pluck()
      .all();
    const named = [...sql.matchAll(/CONSTRAINT (\w+)/g)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(Object.keys(constraints)));
  });

  it.each([
    ['a verified that is neither yes nor no', 'verified = 2', 'CHECK constraint failed: verified'],
    ['a state that there is not', "state = 'lost'", 'CHECK constraint failed'],
    ['a reason that there is not', `${DEAD}, dead_reason = 'bored'`, 'CHECK constraint failed: dead_reason'],
    ['a time that is no number', "received_ms = 'yesterday'", 'cannot store TEXT value in INTEGER column'],
    ['a body that is text', "body = 'text'", 'cannot store TEXT value in BLOB column'],
    ['no id', 'id = NULL', 'NOT NULL constraint failed'],
    ['no endpoint', 'endpoint = NULL', 'NOT NULL constraint failed'],
    ['no hash of its id', 'id_hash = NULL', 'NOT NULL constraint failed'],
  ])('the type of its columns: %s', (_, change, message) => {
    expect(() => update(change)).toThrow(message);
  });
});

describe.each(['hookbox_redeliveries', 'hookbox_conflicts'])('%s keeps out', (table) => {
  it.each([
    ['a count of nothing', 'count = 0'],
    ['no time at all', "recent = '[]'"],
    ['more than twenty times', `recent = '${JSON.stringify(Array.from({ length: 21 }, () => 1))}'`],
    ['what is no list', "recent = '1'"],
    ['what is no JSON', "recent = 'yesterday'"],
    ['no first time', 'first_ms = NULL'],
  ])('%s', (_, change) => {
    const before = database.prepare(`SELECT * FROM ${table}`).all();
    expect(before).toHaveLength(2);
    expect(() => database.exec(`UPDATE ${table} SET ${change}`)).toThrow(/constraint failed|malformed JSON/);
    expect(database.prepare(`SELECT * FROM ${table}`).all()).toEqual(before);
  });

  it('the row of an event that there is not, where foreign keys are on', () => {
    database.pragma('foreign_keys = ON');
    expect(() => database.exec(`UPDATE ${table} SET seq = 99 WHERE seq = 1`)).toThrow('FOREIGN KEY constraint failed');
  });
});

it('hookbox_conflicts keeps out a conflict without a body', () => {
  expect(() => database.exec('UPDATE hookbox_conflicts SET body = NULL')).toThrow('NOT NULL constraint failed');
});

function update(change: string): number {
  return database.prepare(`UPDATE hookbox_events SET parked = 0, ${change} WHERE id = 'valid'`).run().changes;
}
