/** The essential part of test/inbox and test/processing, without a test runner. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type * as hookbox from '../../src/index.ts';
import type { Inbox, StoredEvent } from '../../src/index.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import type * as ops from '../../src/ops/index.ts';
import { incoming, invalidIncoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { orderBody } from '../helpers/order-delivery.ts';
import type { StartedThread } from './started-threads.ts';

export interface Site {
  readonly file: string;
  readonly open: (options?: { readonly maxWaiting?: number }) => Inbox;
  readonly openOn: (database: SqliteDatabase) => Inbox;
  readonly Database: typeof Database;
  readonly hookbox: Pick<typeof hookbox, 'createProcessor'> & Pick<typeof ops, 'listEvents' | 'exportEvents'>;
  readonly threads: readonly StartedThread[];
  readonly placement: Placement;
}

export type Placement = 'thread' | 'loop';
export const PLACEMENTS: readonly Placement[] = ['thread', 'loop'];

const STORED = { result: 'stored', conflict: false, replaced: false };
const DUPLICATE = { result: 'duplicate', conflict: false, replaced: false };
const CONFLICT = { result: 'duplicate', conflict: true, replaced: false };
const REPLACED = { result: 'duplicate', conflict: false, replaced: true };

const PER_CLIENT = 50;
const CLAIM = { endpoints: '*', types: '*', leaseMs: 60_000, ordered: true } as const;

export const inboxChecks: Readonly<Record<string, (site: Site) => Promise<void>>> = {
  async 'an event is stored once, and comes back as it was'({ open }) {
    const inbox = open();
    const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const created = { ms: -62_135_596_800_001, ns: 1 };
    assert.deepEqual(await inbox.accept(incoming({ body, created }), later()), STORED);
    assert.deepEqual(await inbox.accept(incoming({ body, created }), later()), DUPLICATE);
    const stored = await known(inbox);
    assert.ok(Buffer.isBuffer(stored.body));
    assert.ok(stored.body.equals(body));
    assert.deepEqual(stored.created, created);
    assert.deepEqual([stored.state, stored.verified, stored.entity], ['pending', true, 'order::ord_1']);
    assert.equal(stored.receivedAt.getTime(), incoming().receivedAt);
    assert.equal(stored.redeliveries.count, 1);
    assert.equal(await inbox.get({ endpoint: 'other', id: 'evt_1' }), null);
  },

  async 'a mebibyte comes back exactly'({ open }) {
    const inbox = open();
    const body = new Uint8Array(1024 * 1024).map((_, at) => at * 31);
    await inbox.accept(incoming({ body }), later());
    assert.ok(Buffer.from((await known(inbox)).body ?? []).equals(body));
  },

  async 'the first body wins, unless another one is to be trusted more'({ open }) {
    const inbox = open();
    const accept = (event: ReturnType<typeof incoming>) => inbox.accept(event, later());
    await accept(invalidIncoming({ body: 'claimed', verified: false }));
    assert.deepEqual(await accept(invalidIncoming({ body: 'signed' })), REPLACED);
    assert.equal((await known(inbox)).state, 'dead');
    assert.deepEqual(await accept(incoming({ body: 'valid' })), REPLACED);
    assert.deepEqual(await accept(incoming({ body: 'other' })), CONFLICT);
    const { body, state, conflict } = await known(inbox);
    assert.deepEqual([textOf(body), state, textOf(conflict?.body), conflict?.count], ['valid', 'pending', 'other', 3]);
  },

  async 'many at once are stored in the order of arrival, and those of one id once'({ open }) {
    const inbox = open();
    const events = severalIncoming(700);
    const results = await Promise.all([...events, ...events].map((event) => inbox.accept(event, later())));
    assert.deepEqual(results, [...events.map(() => STORED), ...events.map(() => DUPLICATE)]);
    assert.deepEqual(
      (await inbox.list({ limit: 1_000 })).map(({ id }) => id),
      events.map(({ id }) => id),
    );
    assert.equal((await inbox.list()).length, 100);
  },

  async 'what is late, too much or after the close is refused'({ open }) {
    const inbox = open({ maxWaiting: 10 });
    const [first, late] = await Promise.allSettled([
      inbox.accept(incoming(), later()),
      inbox.accept(incoming({ id: 'late' }), performance.now() - 1),
    ]);
    assert.deepEqual([first.status, codeOf(late)], ['fulfilled', 'DEADLINE']);
    const outcomes = await Promise.allSettled(severalIncoming(30).map((event) => inbox.accept(event, later())));
    assert.deepEqual(
      outcomes.map(codeOf),
      Array.from({ length: 30 }, (_, n) => (n < 10 ? null : 'OVERLOADED')),
    );
    await inbox.close();
    const [closed] = await Promise.allSettled([inbox.accept(incoming(), later())]);
    assert.equal(codeOf(closed), 'CLOSED');
  },

  async 'the close finishes what waits'({ open }) {
    const inbox = open();
    const accepting = Promise.all(severalIncoming(1_500).map((event) => inbox.accept(event, later())));
    await inbox.close();
    assert.ok((await accepting).every(({ result }) => result === 'stored'));
    const again = open();
    assert.equal((await again.list({ limit: 2_000 })).length, 1_500);
  },

  async 'a lock of somebody else is waited for, while the event loop turns'({ open, file, Database: Connection }) {
    const inbox = open();
    await inbox.accept(incoming({ id: 'before' }), later());
    const other = new Connection(file);
    other.exec('BEGIN IMMEDIATE');
    let turns = 0;
    const look = setInterval(() => (turns += 1), 1);
    const inTime = inbox.accept(incoming(), later());
    const [late] = await Promise.allSettled([inbox.accept(incoming({ id: 'late' }), performance.now() + 200)]);
    clearInterval(look);
    other.exec('ROLLBACK');
    other.close();
    assert.equal(codeOf(late), 'DEADLINE');
    assert.ok(turns > 5, `${turns} turns`);
    assert.deepEqual(await inTime, STORED);
  },

  async 'an event is claimed, renewed and settled under its fence'({ open }) {
    const inbox = open();
    const now = Date.now();
    await inbox.accept(incoming({ receivedAt: now }), later());
    await inbox.accept(incoming({ id: 'behind', receivedAt: now }), later());
    const [claimed, ...others] = await inbox.claim({ ...CLAIM, now }, 5);
    assert.deepEqual([claimed?.id, others], ['evt_1', []]);
    const lease = claimed?.lease ?? assert.fail();
    assert.equal(textOf(claimed?.body ?? null), '{}');
    assert.equal((await inbox.renew([lease, { ...lease, fence: 9 }], now, 60_000))[0], lease);
    const error = { name: 'Error', message: 'not this time', stack: null };
    assert.equal(await inbox.settle(lease, { outcome: 'retry', error, dueAt: now + 60_000 }, now), true);
    assert.equal(await inbox.settle(lease, { outcome: 'processed' }, now), false);
    assert.deepEqual(await inbox.claim({ ...CLAIM, now }, 5), []);
    assert.ok(((await inbox.claim({ ...CLAIM, now: now + 60_000 }, 5))[0]?.lease.fence ?? 0) > lease.fence);
    assert.deepEqual(
      (await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).map((attempt) => attempt.error?.message),
      ['not this time'],
    );
  },

  async 'ctx.transaction writes what a handler writes, once, and the mark with it'({ open, ...site }) {
    await writesEffects(open(), site);
  },

  async 'and does so on a connection of the merchant’s'({ openOn, ...site }) {
    const database = new site.Database(site.file);
    const inbox = openOn(database);
    await writesEffects(inbox, site);
    await inbox.close();
    assert.ok(database.open);
    database.close();
  },

  async 'operators find and export what is stored'({ open, hookbox: { listEvents, exportEvents } }) {
    const inbox = open();
    const events = severalIncoming(300).map(({ id, ...event }) => ({ ...event, id, body: Buffer.from(orderBody(id)) }));
    await Promise.all(events.map((event) => inbox.accept(event, later())));
    const page = await listEvents(inbox, { id: 'evt_7' });
    assert.deepEqual(
      page.events.map(({ id }) => id),
      ['evt_7'],
    );
    const lines: string[] = [];
    for await (const line of exportEvents(inbox, { actor: 'ada' })) lines.push(line);
    assert.equal(lines.length, 302); // and the first and the last line, which say what this is
    await assert.rejects(listEvents(inbox, { since: new Date(NaN) }), { name: 'ConfigurationError' });
  },

  async 'its threads are those of the placement, and end with it'({ open, threads, placement, hookbox }) {
    const inbox = open();
    await inbox.accept(incoming(), later());
    await hookbox.listEvents(inbox);
    const entries = placement === 'thread' ? ['writer-thread', 'operators-thread'] : [];
    assert.deepEqual(
      threads.map(({ entry }) => entry),
      entries,
    );
    const exits = threads.map(({ exited }) => exited);
    await inbox.close();
    await Promise.all(exits);
  },

  async 'the log stays short while much is stored'({ file, open, threads, placement }) {
    const inbox = open();
    const answers: unknown[] = [];
    let watched: StartedThread | undefined;
    for (let n = 0; n < 120; n += 1) {
      await inbox.accept(incoming({ id: `evt_${n}`, entity: null, body: new Uint8Array(1024 * 1024) }), later());
      const copying = threads.find(({ entry }) => entry === 'checkpoint-thread');
      if (copying !== watched) copying?.worker.on('message', ({ kind }) => answers.push(kind));
      watched = copying;
    }
    assert.equal(watched !== undefined, placement === 'thread');
    // It may have been ready before the listener was added.
    const heard = new Set(answers.filter((kind) => kind !== 'ready'));
    assert.deepEqual(heard, new Set(placement === 'thread' ? ['answer'] : []));
    assert.ok(statSync(`${file}-wal`).size < 76 * 1024 * 1024);
  },

  async 'a writer that dies under load takes nothing along that was acknowledged'({ open, threads, placement }) {
    const inbox = open();
    const acknowledged: string[] = [];
    const failures: unknown[] = [];
    const client = async (name: number): Promise<void> => {
      for (let n = 0; n < PER_CLIENT; n += 1) {
        const id = `evt_${name}_${n}`;
        await inbox
          .accept(incoming({ id, entity: null }), later())
          .then(() => acknowledged.push(id))
          .catch((failure: unknown) => failures.push(failure));
      }
    };
    const killer = async (): Promise<void> => {
      while (acknowledged.length < 200) await sleep(1);
      await threads[0]?.worker.terminate();
    };
    await Promise.all([killer(), ...Array.from({ length: 16 }, (_, name) => client(name))]);
    assert.ok(failures.every((failure) => codeOf({ status: 'rejected', reason: failure }) === 'FAILED'));
    assert.equal(acknowledged.length + failures.length, 16 * PER_CLIENT);
    assert.equal(threads.length, placement === 'thread' ? 2 : 0);
    const stored = new Set((await inbox.list({ limit: 1_000 })).map(({ id }) => id));
    assert.deepEqual(
      acknowledged.filter((id) => !stored.has(id)),
      [],
    );
  },
};

/** The first attempt fails after it has written. */
async function writesEffects(
  inbox: Inbox,
  { file, hookbox: { createProcessor }, Database: Connection }: Pick<Site, 'file' | 'hookbox' | 'Database'>,
): Promise<void> {
  const own = new Connection(file);
  own.exec('CREATE TABLE effects (id TEXT NOT NULL)');
  const ids = Array.from({ length: 20 }, (_, n) => `evt_${n}`);
  const failed = new Set<string>();
  const processor = createProcessor({
    inbox,
    logger: { info() {}, warn() {}, error() {} },
    processing: { retry: { baseMs: 10, maxMs: 20 } },
    handlers: {
      'order.created': (event, context) =>
        context.transaction((database) => {
          database.prepare('INSERT INTO effects (id) VALUES (?)').run(event.id);
          if (failed.has(event.id)) return;
          failed.add(event.id);
          throw new Error('after it has written');
        }),
    },
  });
  await processor.start();
  await Promise.all(
    ids.map((id) => inbox.accept(incoming({ id, body: orderBody(id), entity: null, receivedAt: Date.now() }), later())),
  );
  const until = performance.now() + 20_000;
  const states = async () => new Set((await inbox.list()).map(({ state }) => state));
  while ([...(await states())].join() !== 'processed' && performance.now() < until) await sleep(20);
  assert.deepEqual([...(await states())], ['processed']);
  const written = own.prepare<[], string>('SELECT id FROM effects').pluck().all();
  assert.deepEqual(written.toSorted(), ids.toSorted());
  await processor.close();
  own.close();
}

async function known(inbox: Inbox): Promise<StoredEvent> {
  return (await inbox.get({ endpoint: 'default', id: 'evt_1' })) ?? assert.fail('it is not stored');
}

function textOf(bytes: Uint8Array | null | undefined): string | null {
  return bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString();
}

function codeOf(outcome: PromiseSettledResult<unknown>): string | null {
  return outcome.status === 'fulfilled' ? null : (outcome.reason as { readonly code: string }).code;
}
