import Database from 'better-sqlite3';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../src/errors.ts';
import type { Inbox, Operations } from '../../../src/inbox/contract.ts';
import type { EventFilter } from '../../../src/inbox/operator/search.ts';
import type { ExportPage, ExportPages } from '../../../src/inbox/operator/transfer.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { later, severalIncoming } from '../../helpers/incoming-event.ts';
import { orderEvent, orderEvents, store } from '../../helpers/order-event.ts';
import { suiteFolder, scratchFile } from '../../helpers/scratch-folder.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { seenThreads } from './seen-threads.ts';

const BY = { actor: 'ada', now: START };
const folder = suiteFolder();
const KEYS = ['evt_1', 'evt_2', 'nobody'].map((id) => ({ endpoint: 'default', id }));

let threaded: Inbox;
let onLoop: Inbox;
let there: Operations;
let here: Operations;

beforeAll(async () => {
  threaded = sqliteInbox(`${folder}/shop.db`);
  onLoop = sqliteInbox(`${folder}/shop.db`, { thread: false });
  there = operationsOf(threaded);
  here = operationsOf(onLoop);
  const events = orderEvents(300, (n) => ({ order: `ord_${n % 7}`, createdAt: n }));
  await store(threaded, ...events);
  await store(threaded, { ...orderEvent('evt_3'), body: Buffer.from('{"other":1}'), verified: true });
  while ((await here.indexNew(100)) > 0);
  const claimed = await threaded.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: false }, 20);
  const error = { name: 'RangeError', message: 'out of stock', stack: null };
  for (const [n, { lease }] of claimed.entries()) {
    await threaded.settle(
      lease,
      n % 2 === 0 ? { outcome: 'processed' } : { outcome: 'dead', reason: 'failed', error },
      START,
    );
  }
});

afterAll(async () => {
  await threaded.close();
  await onLoop.close();
});

function operationsOf({ operations }: Inbox): Operations {
  if (operations === undefined) throw new Error('no operations');
  return operations;
}

const reads: Readonly<Partial<Record<keyof Operations, (operations: Operations) => Promise<unknown>>>> = {
  search: (operations) => operations.search({ entity: 'ord_3' }, { limit: 20 }),
  summary: (operations) => operations.summary({ endpoint: 'default', id: 'evt_3' }),
  deadGroups: (operations) => operations.deadGroups(),
  bulk: (operations) => operations.bulk(1),
  bulks: (operations) => operations.bulks({}),
  lines: (operations) => operations.lines({}),
  prunable: (operations) => operations.prunable({ settledBefore: new Date(START + 1) }, Infinity, {}),
  bytes: (operations) => operations.bytes(),
  counts: (operations) => operations.counts(0, Date.now() + 60_000),
  totals: (operations) => operations.totals(),
  totalsIn: (operations) => operations.totalsIn([{ since: 0, until: Date.now() + 60_000 }]),
  deliveries: (operations) => operations.deliveries([{ since: 0, until: Date.now() + 60_000 }], 'minute'),
  gauges: (operations) => operations.gauges(),
  rejected: (operations) => operations.rejected(10),
  exportPages: (operations) => collected(operations.exportPages({ states: ['dead'] })),
};

it.each(Object.entries(reads))('%s answers in a thread as on the loop', async (_, read) => {
  const [one, other] = [await read(there), await read(here)];
  expect(one).toEqual(other);
  expect(one).toBeDefined();
});

describe('what is asked of a thread', () => {
  it('fails with the class and the code that it fails with on the loop', async () => {
    for (const operations of [there, here]) {
      const refused = operations.search({ types: [''], states: ['gone' as 'dead'] }, {});
      await expect(refused).rejects.toBeInstanceOf(ConfigurationError);
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('states') as string,
      });
      await expect(operations.act('rerun', KEYS, { actor: '' }, {})).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      await expect(operations.sealBulk(99)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    }
  });

  it('that cannot be sent is refused, and nothing waits for it', async () => {
    const odd = { actor: 'ada', via: (() => {}) as unknown as 'code' };
    await expect(there.note('export', odd, {}, {})).rejects.toThrow(/could not be cloned/);
    expect((await there.lines({})).lines).toEqual((await here.lines({})).lines);
  });

  it('acts, and its line stands in the audit', async () => {
    const { counts, audit } = await there.act('rerun', KEYS, BY, {});
    expect(counts).toEqual({ done: 1, 'not needed': 1, unknown: 1 });
    expect((await here.lines({})).lines[0]).toMatchObject({ seq: audit, act: 'rerun', actor: 'ada' });
  });

  it("uses a merchant's own rule for what an event is about, which cannot be sent", async () => {
    await store(threaded, {
      ...orderEvent('bad', { order: 'ord_9' }),
      type: null,
      created: null,
      entity: null,
      valid: false,
    });
    const { counts } = await there.act('rerun', [{ endpoint: 'default', id: 'bad' }], BY, { entity: () => 'own name' });
    expect(counts).toEqual({ done: 1 });
    expect(await threaded.get({ endpoint: 'default', id: 'bad' })).toMatchObject({ entity: 'own name' });
  });

  it('runs a bulk', async () => {
    const id = await there.createBulk('discard', { states: ['dead'] }, BY, false);
    const { events } = await there.search({ states: ['dead'] }, {});
    const seqs = events.map(({ seq }) => seq);
    await there.addToBulk(id, seqs);
    expect(await there.sealBulk(id)).toMatchObject({ total: seqs.length });
    let bulk;
    do bulk = await there.advanceBulk(id, 1_000, BY, {});
    while (bulk?.state === 'running');
    expect(bulk).toMatchObject({ state: 'done', counts: { done: seqs.length } });
    expect(await here.bulk(id)).toMatchObject({ state: 'done' });
  });

  it('tells processors of what has become due', async () => {
    let told = 0;
    const stop = threaded.onPending(() => (told += 1));
    await there.act('rerun', [{ endpoint: 'default', id: 'evt_3' }], BY, { force: true });
    stop();
    expect(told).toBe(1);
  });

  it('tells of its progress, and is stopped by a signal', async () => {
    const progress: unknown[] = [];
    const dry = await there.erase('ord_4', BY, { dryRun: true, onProgress: (step) => progress.push(step) });
    expect(dry.erased).toBeGreaterThan(10);
    expect(progress.at(-1)).toMatchObject({ step: 'looking', found: dry.erased });

    const controller = new AbortController();
    const erasing = there.erase('ord_4', BY, {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    expect((await erasing).erased).toBeLessThan(dry.erased);
    const whole = await there.erase('ord_4', BY, {});
    expect(whole).toMatchObject({ inProcessing: 0, logEmptied: true });
  });

  it('as a search is given up when its signal is aborted, before and while it goes on', async () => {
    const reason = new Error('gone');
    await expect(there.search({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const searching = there.search({ body: [{ path: 'data.total', value: '1' }] }, { signal: controller.signal });
    controller.abort(reason);
    await expect(searching).rejects.toBe(reason);
  });

  it('as searches that are given up hold up nobody', async () => {
    const filter: EventFilter = { body: Array.from({ length: 8 }, () => ({ path: 'data.total', value: '1' })) };
    const some = Array.from({ length: 300 });
    const timed = async (searches: Promise<unknown>[]): Promise<number> => {
      const ended = Promise.allSettled(searches);
      const begun = performance.now();
      await there.search(filter, {});
      const took = performance.now() - begun;
      await ended;
      return took;
    };
    await there.search(filter, {});
    const behind = await timed(some.map(() => there.search(filter, {})));
    const gone = new AbortController();
    const given = some.map(() => there.search(filter, { signal: gone.signal }));
    gone.abort();
    expect(await timed(given)).toBeLessThan(behind / 3);
  });

  it('as an export can be left before its end', async () => {
    const pages = there.exportPages({});
    expect(await pages.next()).toMatchObject({ events: 100 });
    await pages.end();
    expect(await pages.next()).toBeNull();
  });

  it('as an import is taken in byte for byte, and a backup made', async () => {
    await using copy = sqliteInbox(`${folder}/copy.db`);
    const lines = (await collected(there.exportPages({}))).flatMap((page) => page.lines);
    expect(lines.length).toBeGreaterThan(300);
    await there.backup(`${folder}/backup.db`);
    const backup = new Database(`${folder}/backup.db`, { readonly: true });
    expect(backup.prepare('SELECT count(*) FROM hookbox_events').pluck().get()).toBe(
      (await threaded.list({ limit: 1_000 })).length,
    );
    backup.close();
    expect(await operationsOf(copy).importSome([], { dryRun: true })).toEqual({ imported: 0, known: 0, different: 0 });
  });

  it('counts, pings and indexes beside the writer', async () => {
    await there.count([{ at: 0, what: 'answer-ms', detail: '5', count: 3 }]);
    await there.noteRejected([
      { endpoint: 'default', reason: 'bad-signature', bytes: 1, sha256: null, source: null, count: 2, at: START },
    ]);
    await there.ping();
    let left = 1;
    while (left > 0) left = await there.indexNew(1_000);
    expect(await here.indexNew(1_000)).toBe(0);
    await there.coarsen(START);
    expect(await here.rejected(1)).toMatchObject([{ reason: 'bad-signature', count: 2 }]);
    expect((await here.totals()).find(({ what }) => what === 'answer-ms')).toMatchObject({ count: 3 });
  });
});

async function collected(pages: ExportPages): Promise<ExportPage[]> {
  const all: ExportPage[] = [];
  for (let page = await pages.next(); page !== null; page = await pages.next()) all.push(page);
  return all;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('an export that its reader has dropped without a word is dropped by its thread, too, and no other', async () => {
  const threads = seenThreads();
  await using inbox = sqliteInbox(scratchFile());
  await Promise.all(severalIncoming(250).map((event) => inbox.accept(event, later())));
  const kept = inbox.operations?.exportPages({});
  expect(await kept?.next()).toMatchObject({ events: 100 });
  const asked = (): number =>
    threads
      .filter(({ entry }) => entry === 'operators-thread')
      .flatMap(({ sent }) => sent)
      .filter(({ kind }) => kind === 'operate').length;

  const drop = async (): Promise<void> => {
    const pages = inbox.operations?.exportPages({ states: ['pending'] });
    expect(await pages?.next()).toMatchObject({ events: 100 });
  };
  for (let n = 0; n < 10; n += 1) await drop();
  const before = asked();
  await expect
    .poll(
      () => {
        collectGarbage();
        return asked();
      },
      { timeout: 10_000 },
    )
    .toBe(before + 10);
  expect(await kept?.next()).toMatchObject({ events: 100 });
  expect(await kept?.next()).toMatchObject({ events: 50 });
});
