/** Without a test runner, and beside what suites.test.ts runs on every runtime. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type * as hookbox from '../../src/index.ts';
import type { Inbox } from '../../src/index.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import type * as ops from '../../src/ops/index.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { orderBody } from '../helpers/order-delivery.ts';
import type { StartedThread } from './started-threads.ts';

export interface Site {
  readonly file: string;
  readonly open: () => Inbox;
  readonly openOn: (database: SqliteDatabase) => Inbox;
  readonly Database: typeof Database;
  readonly hookbox: Pick<typeof hookbox, 'createProcessor'> & Pick<typeof ops, 'listEvents' | 'exportEvents'>;
  readonly threads: readonly StartedThread[];
  readonly placement: Placement;
}

export type Placement = 'thread' | 'loop';
export const PLACEMENTS: readonly Placement[] = ['thread', 'loop'];

const STORED = { result: 'stored', conflict: false, replaced: false };
const PER_CLIENT = 50;
export const inboxChecks: Readonly<Record<string, (site: Site) => Promise<void>>> = {
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

function codeOf(outcome: PromiseSettledResult<unknown>): string | null {
  return outcome.status === 'fulfilled' ? null : (outcome.reason as { readonly code: string }).code;
}
