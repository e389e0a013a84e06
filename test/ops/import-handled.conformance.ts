import { beforeEach, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { importEvents, importHandled } from '../../src/ops/index.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store as storeIn } from '../helpers/order-event.ts';
import { suite } from '../helpers/suite.ts';
import { ANY, auditOf, inStates, key } from './events-in-states.ts';
import { ADA, exported } from './filled-inbox.ts';

export const testImportHandled = suite((store: { open(): Promise<Inbox> }) => {
  let inbox: Inbox;

  beforeEach(async () => {
    inbox = await store.open();
  });

  const claimed = () => inbox.claim({ ...ANY, now: Date.now() + 60_000 }, 10);

  it('a delivery of a recorded id is a duplicate, whatever its body, and no handler gets it', async () => {
    expect(await importHandled(inbox, ['evt_1', 'evt_2'], ADA)).toMatchObject({
      imported: 2,
      known: 0,
      notProcessed: [],
    });
    const event = orderEvent('evt_1');
    for (const body of [event.body, Buffer.from(`${event.body.toString()} `)]) {
      expect(await inbox.accept({ ...event, body }, later())).toEqual({
        result: 'duplicate',
        conflict: false,
        replaced: false,
      });
    }
    expect(await claimed()).toEqual([]);
    expect(await inbox.get(event)).toMatchObject({
      state: 'processed',
      type: null,
      created: null,
      entity: null,
      body: null,
      verified: true,
      conflict: null,
      redeliveries: { count: 2 },
    });
  });

  it('an unsigned, an invalid and a forged-looking delivery of it change nothing either', async () => {
    await importHandled(inbox, ['evt'], ADA);
    const event = orderEvent('evt');
    const invalid = { ...event, type: null, created: null, entity: null, valid: false };
    for (const again of [{ ...event, verified: false }, invalid, { ...invalid, verified: false }]) {
      expect(await inbox.accept(again, later())).toMatchObject({ result: 'duplicate', replaced: false });
    }
    expect(await inbox.get(event)).toMatchObject({ state: 'processed', body: null });
    expect(await claimed()).toEqual([]);
  });

  it('ids of the entity that come later run, and are not superseded by an id without a time', async () => {
    await importHandled(inbox, ['evt_new'], ADA);
    await storeIn(inbox, orderEvent('evt_new', { order: 'ord_1', createdAt: 9 }));
    await storeIn(inbox, orderEvent('evt_old', { order: 'ord_1', createdAt: 1 }));
    expect(await claimed()).toMatchObject([{ id: 'evt_old', superseded: false }]);
  });

  it('it can be repeated and stopped half way', async () => {
    const ids = Array.from({ length: 250 }, (_, n) => `evt_${n}`);
    const stop = new AbortController();
    const half = await importHandled(inbox, ids, ADA, { signal: stop.signal, onProgress: () => stop.abort() });
    expect(half).toMatchObject({ imported: 100, known: 0 });
    const source = function* () {
      yield* ids.slice(0, 220);
      throw new Error('the file went away');
    };
    await expect(importHandled(inbox, source(), ADA)).rejects.toThrow('went away');
    expect(await importHandled(inbox, ids, ADA)).toMatchObject({ imported: 50, known: 200, notProcessed: [] });
    expect(await importHandled(inbox, [...ids, ...ids], ADA)).toMatchObject({ imported: 0 });
    expect((await inbox.list({ limit: 500 })).length).toBe(250);
  });

  it.each([
    ['pending', 'pending'],
    ['retrying', 'pending'],
    ['in processing', 'processing'],
    ['dead (failed)', 'dead'],
  ] as const)('an event that is %s keeps its state and is reported', async (now, state) => {
    await inStates[now](inbox);
    const before = await inbox.get(key('evt'));
    const report = await importHandled(inbox, ['evt', 'other'], ADA);
    expect(report).toMatchObject({ imported: 1, known: 0, notProcessed: [{ id: 'evt', state }] });
    expect(await inbox.get(key('evt'))).toEqual(before);
  });

  it('an event that was processed here is known and keeps its body', async () => {
    await inStates.processed(inbox);
    const before = await inbox.get(key('evt'));
    expect(await importHandled(inbox, ['evt'], ADA)).toMatchObject({ imported: 0, known: 1, notProcessed: [] });
    expect(await inbox.get(key('evt'))).toEqual(before);
  });

  it('while the same ids are delivered, each is either recorded or runs, and the report says which', async () => {
    const ids = Array.from({ length: 200 }, (_, n) => `evt_${n}`);
    const [report, accepted] = await Promise.all([
      importHandled(inbox, ids, ADA),
      Promise.all(ids.toReversed().map((id) => inbox.accept(orderEvent(id, { order: id }), later()))),
    ]);
    const ran = (await inbox.claim({ ...ANY, now: Date.now() + 60_000 }, 500)).map(({ id }) => id);
    expect(ran.toSorted()).toEqual(report.notProcessed.map(({ id }) => id).toSorted());
    expect(accepted.filter(({ result }) => result === 'stored')).toHaveLength(ran.length);
    expect(report.imported + ran.length).toBe(200);
    expect(accepted.some(({ conflict }) => conflict)).toBe(false);
  });

  it('an endpoint has its own ids', async () => {
    await importHandled(inbox, ['evt'], ADA, { endpoint: 'second' });
    expect(await inbox.accept(orderEvent('evt'), later())).toMatchObject({ result: 'stored' });
    expect(await inbox.get({ endpoint: 'second', id: 'evt' })).toMatchObject({ state: 'processed' });
  });

  it('a dry run changes nothing, also not in the audit', async () => {
    await storeIn(inbox, orderEvent('evt'));
    const tried = await importHandled(inbox, ['evt', 'new'], ADA, { dryRun: true });
    expect(tried).toEqual({ imported: 1, known: 0, notProcessed: [{ id: 'evt', state: 'pending' }], audit: null });
    expect(await inbox.get(key('new'))).toBeNull();
    expect(await auditOf(inbox)).toEqual([]);
  });

  it('the audit says who imported, from where and how many', async () => {
    await importHandled(inbox, ['evt_1', 'evt_2'], ADA, { from: 'ids.txt' });
    expect(await auditOf(inbox)).toMatchObject([
      { act: 'import', actor: 'ada', filter: { handled: true, from: 'ids.txt' }, counts: { imported: 2 } },
    ]);
  });

  it('an export carries the ids to another inbox, where they are duplicates too', async () => {
    await importHandled(inbox, ['evt'], ADA);
    const lines = await exported(inbox);
    const copy = await store.open();
    expect(await importEvents(copy, lines, ADA, { trusted: true })).toMatchObject({ imported: 1 });
    expect(await exported(copy)).toEqual(lines);
    expect(await copy.accept(orderEvent('evt'), later())).toMatchObject({ result: 'duplicate', conflict: false });
  });

  it.each([
    ['an empty id', ''],
    ['a long id', 'x'.repeat(256)],
    ['half a character', '\ud800'],
  ])('refuses %s by its place in the list, and does not quote it', async (_, id) => {
    await expect(importHandled(inbox, ['evt', id], ADA)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: 'importHandled: id 2 is not a well-formed string of 1 to 255 characters.',
    });
  });

  it('refuses an endpoint without a name', async () => {
    await expect(importHandled(inbox, [], ADA, { endpoint: '' })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
