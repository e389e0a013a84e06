import { beforeEach, describe, expect, it } from 'vitest';
import { InboxUnavailableError, LONGEST_WAIT_MS } from '../../src/errors.ts';
import type { Inbox, Operations } from '../../src/inbox/contract.ts';
import type { EventKey, IncomingEvent } from '../../src/inbox/event.ts';
import type { EventFilter } from '../../src/inbox/operator/search.ts';
import {
  auditLines,
  eraseEntity,
  exportEvents,
  importEvents,
  type ImportReport,
  listEvents,
  pausedTypes,
  pauseType,
  resumeType,
} from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, orderEvents, store as storeIn } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { deliverDuring } from './deliver-during.ts';
import { ANY, auditOf, FAILED, failure, handled } from './events-in-states.ts';
import { ADA, exported, fill, HOSTILE } from './filled-inbox.ts';

const OURS = { trusted: true } as const;
const BOB = { actor: 'bob', reason: 'to the new machine' };

export interface TransferStore {
  open(): Promise<Inbox>;
  plantDead(inbox: Inbox, ...events: readonly IncomingEvent[]): Promise<void>;
  breaksAt(inbox: Inbox, id: string): Promise<void>;
}

export const testTransfer = suite((store: TransferStore) => {
  let inbox: Inbox;

  beforeEach(async () => {
    inbox = await store.open();
  });

  describe('export and import', () => {
    it('take everything into an empty file: the same bytes, ids, states, attempts and marks', async () => {
      await fill(inbox);
      const lines = await exported(inbox);
      const copy = await store.open();
      expect(await importEvents(copy, lines, ADA, OURS)).toMatchObject({ imported: 15, known: 0, different: 0 });

      expect(await exported(copy)).toEqual(lines);
      const [before, after] = [await inbox.list(), await copy.list()];
      // Nothing is missing from the lines either: only the file's own numbers may differ.
      expect(after.map(withoutSeq)).toEqual(before.map(withoutSeq));
      for (const event of before) {
        expect(await copy.attempts(event)).toEqual(await inbox.attempts(event));
        expect({ ...(await summaryOf(copy, event)), seq: 0 }).toEqual({ ...(await summaryOf(inbox, event)), seq: 0 });
      }
      expect(marksOf(lines)).toEqual(
        [
          { entity: 'order::again', endpoint: 'default', created: { ms: START, ns: 0 } },
          { entity: 'order::processed', endpoint: 'default', created: { ms: START, ns: 0 } },
          { entity: 'order::pruned', endpoint: 'default', created: { ms: START, ns: 0 } },
        ].toSorted((a, b) => (a.entity < b.entity ? -1 : 1)),
      );
    });

    it('take along why a handler let its event go by, what it logged, what ran it, its steps, and the trace of its delivery', async () => {
      const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01 shop=7`;
      await storeIn(inbox, { ...orderEvent('evt'), trace }, { ...orderEvent('other'), trace });
      const log = [{ afterMs: 20, level: 'warn', text: 'no “stock”' }] as const;
      const skip = { outcome: 'processed', skipped: 'not “ours”', log, limit: 3, processor: '7-a' } as const;
      for (const { lease } of await inbox.claim({ ...ANY, now: START + 1 }, 1)) {
        await inbox.keepStep(lease, { name: 'mail', result: '{"id":"“1”"}' }, START + 1);
        await inbox.keepStep(lease, { name: 'label', result: null }, START + 2);
        await inbox.settle(lease, skip, START + 3);
      }
      const lines = await exported(inbox);
      const copy = await store.open();
      expect(await importEvents(copy, lines, ADA, OURS)).toMatchObject({ imported: 2 });
      expect(await exported(copy)).toEqual(lines);
      expect(await copy.attempts(orderEvent('evt'))).toMatchObject([skip]);
      expect(await copy.steps(orderEvent('evt'))).toEqual(await inbox.steps(orderEvent('evt')));
      expect(await copy.steps(orderEvent('evt'))).toHaveLength(2);
      const strange = await store.open();
      await importEvents(strange, lines, ADA);
      expect(await strange.steps(orderEvent('evt'))).toEqual([]);
      expect(await copy.claim({ ...ANY, now: Date.now() }, 1)).toMatchObject([{ id: 'other', trace }]);
    });

    it('take along what is paused: it is paused before the first of its events is here', async () => {
      await pauseType(inbox, 'order.created', { actor: 'ada', reason: 'the till prints twice', now: START });
      await pauseType(inbox, HOSTILE, ADA, { endpoint: 'second', unseen: true });
      await storeIn(inbox, orderEvent('evt'));
      const lines = await exported(inbox);
      const copy = await store.open();
      await expect(importEvents(copy, lines.slice(0, -1), BOB, OURS)).rejects.toThrow('ends early');
      expect(await copy.claim({ ...ANY, now: Date.now() }, 1)).toEqual([]);
      expect(await importEvents(copy, lines, BOB, OURS)).toMatchObject({ imported: 0, known: 1 });
      expect(await exported(copy)).toEqual(lines);
      expect(await pausedTypes(copy)).toMatchObject([
        { endpoint: 'default', type: 'order.created', actor: 'bob', reason: 'the till prints twice', waiting: 1 },
        { endpoint: 'second', type: HOSTILE, actor: 'bob' },
      ]);
      await resumeType(copy, 'order.created', ADA);
      expect(await copy.claim({ ...ANY, now: Date.now() }, 1)).toMatchObject([{ id: 'evt' }]);
    });

    it('pause nothing by an export of others, nor in a dry run, and of a choice of events nothing is paused', async () => {
      await pauseType(inbox, 'order.created', ADA);
      await storeIn(inbox, orderEvent('evt'));
      const copy = await store.open();
      await importEvents(copy, await exported(inbox), ADA, { ...OURS, dryRun: true });
      await importEvents(copy, await exported(inbox), ADA);
      await importEvents(copy, await exported(inbox, { states: ['pending'] }), ADA, OURS);
      expect(await pausedTypes(copy)).toEqual([]);
    });

    it('take along that an event which has failed lets others of its entity pass', async () => {
      const [older, newer] = ['older', 'newer'].map((id, n) => orderEvent(id, { order: 'ord_1', createdAt: n }));
      await handled(
        inbox,
        { outcome: 'retry', error: failure, dueAt: Date.now() + 3_600_000, yields: true },
        older as IncomingEvent,
      );
      await storeIn(inbox, newer as IncomingEvent);
      const lines = await exported(inbox);
      const copy = await store.open();
      await importEvents(copy, lines, ADA, OURS);
      expect(await exported(copy)).toEqual(lines);
      expect(await copy.claim({ ...ANY, now: Date.now(), ordered: true }, 2)).toMatchObject([{ id: 'newer' }]);
    });

    it('let what was asked to wait for days wait for as long', async () => {
      const dueAt = Date.now() + LONGEST_WAIT_MS - 60_000;
      await handled(inbox, { outcome: 'retry', error: failure, dueAt }, orderEvent('evt'));
      const lines = await exported(inbox);
      const [ours, others] = [await store.open(), await store.open()];
      await importEvents(ours, lines, ADA, OURS);
      await importEvents(others, lines, ADA);
      expect(await exported(ours)).toEqual(lines);
      expect(await ours.nextDue(ANY)).toBe(dueAt);
      expect(await others.nextDue(ANY)).toBeLessThan(Date.now() + 25 * 3_600_000);
    });

    it('bring back what was being handled as pending and due, and its attempts go on counting', async () => {
      await storeIn(inbox, orderEvent('evt'));
      await inbox.claimOne(orderEvent('evt'), { ...ANY, now: START + 1 });
      const copy = await store.open();
      await importEvents(copy, await exported(inbox), ADA);
      expect(await copy.get(orderEvent('evt'))).toMatchObject({ state: 'pending' });
      const claimed = await copy.claim({ ...ANY, now: Date.now() }, 1);
      expect(claimed).toMatchObject([{ id: 'evt', attempt: 2 }]);
      for (const { lease } of claimed)
        expect(await copy.settle(lease, { outcome: 'processed' }, Date.now())).toBe(true);
    });

    it('let pending events be handled in their order, also right away', async () => {
      const ids = Array.from({ length: 250 }, (_, n) => `evt_${n}`);
      await storeAll(inbox, ...ids.map((id, n) => orderEvent(id, { order: 'ord_1', createdAt: n })));
      const copy = await store.open();
      let told = 0;
      copy.onPending(() => (told += 1));
      await importEvents(copy, await exported(inbox), ADA);
      expect(told).toBeGreaterThan(0);
      expect((await copy.list({ limit: 500 })).map(({ id }) => id)).toEqual(ids);
      const claimed = await copy.claim(
        { endpoints: '*', types: '*', ordered: true, leaseMs: 1_000, now: START + 1 },
        5,
      );
      expect(claimed.map(({ id }) => id)).toEqual(['evt_0']);
    });

    it('leave what is here already as it is, and say whether it is the same', async () => {
      await handled(inbox, FAILED, orderEvent('same'), orderEvent('other'), orderEvent('tombstone'), orderEvent('new'));
      const copy = await store.open();
      await storeIn(copy, orderEvent('same'), orderEvent('other', { total: 1 }));
      await handled(copy, { outcome: 'processed' }, orderEvent('tombstone'));
      await copy.prune('*', START + 9, 1);
      const before = await exported(copy);
      const counts = { imported: 1, known: 2, different: 1 };
      const lines = await exported(inbox);
      expect(await importEvents(copy, lines, ADA, { dryRun: true })).toEqual({ ...counts, audit: null });
      expect(await exported(copy)).toEqual(before);
      expect(await importEvents(copy, lines, ADA)).toMatchObject(counts);
      expect((await copy.list()).map(withoutSeq)).toMatchObject([
        { id: 'same', state: 'pending' },
        { id: 'other', state: 'pending', conflict: null, redeliveries: { count: 0 } },
        { id: 'tombstone', state: 'processed', body: null },
        { id: 'new', state: 'dead' },
      ]);
      expect(await importEvents(copy, lines, ADA)).toMatchObject({ imported: 0, known: 3, different: 1 });
    });

    it('do not bring back the body of an event that was erased here', async () => {
      await storeIn(inbox, orderEvent('evt'));
      const lines = await exported(inbox);
      await eraseEntity(inbox, 'evt', ADA);
      expect(await importEvents(inbox, lines, ADA)).toMatchObject({ imported: 0, known: 1 });
      expect(await inbox.get(orderEvent('evt'))).toMatchObject({ body: null, entity: null });
    });

    it('tell erased events as erased: other bytes are not kept there either', async () => {
      await storeIn(inbox, orderEvent('evt'));
      await eraseEntity(inbox, 'evt', ADA);
      const copy = await store.open();
      await importEvents(copy, await exported(inbox), ADA);
      await copy.accept({ ...orderEvent('evt'), body: Buffer.from('other') }, later());
      expect((await copy.get(orderEvent('evt')))?.conflict?.body).toHaveLength(0);
    });

    it('take the marks of entities from processed events when the export is filtered', async () => {
      await handled(inbox, { outcome: 'processed' }, orderEvent('new', { order: 'ord_1', createdAt: 9 }));
      await handled(inbox, { outcome: 'processed' }, orderEvent('of another', { order: 'ord_2' }));
      const lines = await exported(inbox, { entity: 'ord_1' });
      expect(marksOf(lines)).toEqual([]);
      const copy = await store.open();
      await importEvents(copy, lines, ADA);
      await storeIn(copy, orderEvent('old', { order: 'ord_1', createdAt: 1 }));
      expect(await copy.claim({ ...ANY, now: START + 1 }, 1)).toMatchObject([{ id: 'old', superseded: true }]);
      expect(marksOf(await exported(copy)).map(({ entity }) => entity)).toEqual(['order::ord_1']);
    });

    it('are found by their time and entity when older ones come behind newer ones', async () => {
      const monthLater = START + 30 * 86_400_000;
      const old = Array.from({ length: 400 }, (_, n) => orderEvent(`old_${n}`, { receivedAt: START + n }));
      const fresh = Array.from({ length: 200 }, (_, n) => orderEvent(`new_${n}`, { receivedAt: monthLater + n }));
      await storeAll(inbox, ...old);
      const copy = await store.open();
      await storeAll(copy, ...fresh);
      await importEvents(copy, await exported(inbox), ADA);
      const found = (filter: EventFilter) => listEvents(copy, filter, { limit: 500 });
      expect((await found({ until: new Date(START + 1_000) })).events).toHaveLength(400);
      expect((await found({ since: new Date(monthLater) })).events).toHaveLength(200);
      expect((await listEvents(copy, { entity: 'old_7' })).events).toMatchObject([{ id: 'old_7' }]);
    });
  });

  describe('exportEvents', () => {
    it('streams: holds no more than a few events at a time, however large they are', async () => {
      const sizes = [...Array.from({ length: 450 }, () => 1), ...Array.from({ length: 7 }, () => 700_000)];
      await storeAll(inbox, ...sizes.map((size, n) => incoming({ id: `evt_${n}`, body: Buffer.alloc(size, n) })));
      const pages: number[][] = [];
      const reading = operationsOf(inbox).exportPages({});
      for (let page = await reading.next(); page !== null; page = await reading.next()) {
        const { lines } = page;
        pages.push([lines.length, lines.reduce((sum, line) => sum + line.length, 0)]);
      }
      expect(pages.reduce((sum, [count = 0]) => sum + count, 0)).toBe(457);
      for (const [count, characters] of pages) {
        expect(count).toBeLessThanOrEqual(100);
        // A mebibyte and the last one beyond it, in base64.
        expect(characters).toBeLessThan(((1_048_576 + 700_000) * 4) / 3 + 200 * 1_000);
      }
    });

    it('leaves out what is stored while it runs', async () => {
      await storeIn(inbox, orderEvent('a'), orderEvent('b'));
      const ids: string[] = [];
      for await (const line of exportEvents(inbox, ADA)) {
        const { event } = JSON.parse(line) as { event?: { id: string } };
        // The first line is there before the inbox was asked how far the export goes.
        if (event === undefined) continue;
        ids.push(event.id);
        await storeIn(inbox, orderEvent(`new_${ids.length}_${line.length}`));
      }
      expect(ids).toEqual(['a', 'b']);
    });

    it.each<[string, EventFilter]>([
      ['states', { states: ['dead'] }],
      ['types', { types: ['order.ready'] }],
      ['a time', { since: new Date(START + 100), until: new Date(START + 700) }],
      ['an entity', { entity: 'ord_3' }],
      ['an error', { error: 'SHOP' }],
      ['body', { body: [{ path: 'data.total', value: '7' }] }],
      ['nothing that there is', { id: 'evt_none' }],
      ['conditions that are left out', { states: undefined } as unknown as EventFilter],
    ])('takes what listing finds, the oldest first, with a filter by %s', async (_, filter) => {
      const events = Array.from({ length: 1_200 }, (__, n) =>
        orderEvent(`evt_${n}`, {
          order: `ord_${n % 5}`,
          type: n % 3 === 0 ? 'order.ready' : 'order.created',
          receivedAt: START + n,
          total: n % 11,
        }),
      );
      await store.plantDead(inbox, ...events.slice(0, 700));
      await storeAll(inbox, ...events.slice(700));
      const listed: string[] = [];
      for (let before: number | null | undefined; before !== null;) {
        const page = await listEvents(inbox, filter, { before: before ?? null, limit: 500 });
        listed.push(...page.events.map(({ id }) => id));
        before = page.next;
      }
      expect(idsOf(await exported(inbox, filter))).toEqual(listed.toReversed());
    });

    it('refuses a filter that cannot be meant', async () => {
      await expect(exported(inbox, { state: 'dead' } as EventFilter)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
      });
    });

    it('is audited, with how many events it has handed out, also when it is not read to its end', async () => {
      await storeAll(inbox, ...orderEvents(450));
      await exported(inbox, { states: ['pending'] });
      for await (const line of exportEvents(inbox, ADA)) if (line.includes('evt_20')) break;
      const stop = new AbortController();
      const cut: string[] = [];
      for await (const line of exportEvents(inbox, ADA, {}, { signal: stop.signal, onProgress: () => stop.abort() })) {
        cut.push(line);
      }
      expect(cut).toHaveLength(101);
      expect(await auditOf(inbox)).toMatchObject([
        { act: 'export', filter: {}, counts: { events: 100 } },
        { act: 'export', filter: {}, counts: { events: 100 } },
        {
          act: 'export',
          actor: 'ada',
          reason: 'a new machine',
          filter: { states: ['pending'] },
          counts: { events: 450 },
        },
      ]);
    });
  });

  describe('importEvents', () => {
    const FIRST = '{"hookbox":"export","version":1}';
    const LAST = '{"end":{"events":2,"marks":0}}';
    const [one, two] = [anEvent('one'), anEvent('two')];
    const lines = [FIRST, one, two, LAST];

    /** Imports where nothing is written; the message, and how many events came in. */
    const refused = async (given: Iterable<string>): Promise<[message: string, imported: number]> => {
      const taken: number[] = [];
      const failure: unknown = await importEvents(counting(taken), given, ADA).catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ name: 'ConfigurationError', code: 'INVALID_OPTION' });
      return [(failure as Error).message, taken.reduce((sum, count) => sum + count, 0)];
    };

    it('tells an export that was cut off, after importing what there was', async () => {
      const importing = importEvents(inbox, lines.slice(0, 2), ADA);
      await expect(importing).rejects.toThrow(
        'The export ends early, after line 2: its last line is missing, and events may be missing too. ' +
          'The lines that it contains were imported. Importing them again is safe.',
      );
      expect(await inbox.list()).toMatchObject([{ id: 'one' }]);
      expect(await auditOf(inbox)).toMatchObject([{ act: 'import', counts: { imported: 1 } }]);
      expect(await importEvents(inbox, lines, ADA)).toMatchObject({ imported: 1, known: 1 });
    });

    it.each<[string, readonly string[], RegExp, number]>([
      ['that ends in the middle of a line', [FIRST, one, two.slice(0, 200)], /^Line 3 .*not JSON/, 1],
      ['that lacks a line in between', [FIRST, two, LAST], /^Line 3 .*2 events .* has 1 event and 0 entities/, 1],
      ['that has a line twice', [FIRST, one, one, two, LAST], /^Line 5 .*has 3 events and 0 entities/, 3],
      ['that is empty', [], /^The export is empty\.$/, 0],
      ['that lacks its first line', [one, two, LAST], /^Line 1 .*first line of the export is missing/, 0],
      ['that is followed by another', [...lines, ...lines], /^Line 5 .*follows the last line of the export/, 2],
      ['that begins twice', [FIRST, ...lines], /^Line 2 .*begins a second export/, 0],
      [
        'of a newer hookbox',
        ['{"hookbox":"export","version":2}'],
        /^Line 1 .*version 2.*reads only versions up to 1/,
        0,
      ],
      ['of something else', ['{"hookbox":"import","version":1}'], /^Line 1 .*not a line of an exact hookbox export/, 0],
      ['with a list', [FIRST, '[]'], /^Line 2 .*not a line of an exact hookbox export/, 0],
      ['with a number', [FIRST, '7'], /^Line 2 .*not a line of an exact hookbox export/, 0],
      ['with null', [FIRST, 'null'], /^Line 2 .*not a line of an exact hookbox export/, 0],
      [
        'with two things in a line',
        [FIRST, one.replace('{', '{"mark":1,')],
        /^Line 2 .*its fields must not have this value/,
        0,
      ],
      [
        'with a mark that is none',
        [FIRST, '{"mark":{"entity":7}}'],
        /^Line 2 .*its mark.entity must not have this value/,
        0,
      ],
      ['with a key that changes objects', [FIRST, '{"event":{"__proto__":{"polluted":1}}}'], /^Line 2 .*its event/, 0],
    ])('refuses an export %s', async (_, given, message, imported) => {
      expect(await refused(given)).toEqual([expect.stringMatching(message), imported]);
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
    });

    const attempt = { number: 1, trigger: 'auto', outcome: 'failed', startedMs: 1, endedMs: 2, error: null };
    const never = { count: 0, firstMs: 1, lastMs: 1, recentMs: [1] };
    it.each<[string, object, string]>([
      ['an unknown state', { state: 'SECRET' }, 'event.state'],
      ['a dead one without a reason', { deadReason: null }, 'event.deadReason'],
      ['a pending one with a reason', { state: 'pending', settledMs: null }, 'event.deadReason'],
      ['a settled one without a time', { settledMs: null }, 'event.settledMs'],
      ['no body and no hash', { body: null }, 'event.sha256'],
      ['a body and a hash', { sha256: '0'.repeat(64) }, 'event.sha256'],
      [
        'a pending tombstone',
        { state: 'pending', deadReason: null, settledMs: null, body: null, sha256: '0'.repeat(64) },
        'event.body',
      ],
      ['base64 with a character too many', { body: 'e30=A' }, 'event.body'],
      ['base64 that says the same in another way', { body: 'e30' }, 'event.body'],
      ['a short hash', { body: null, sha256: '00' }, 'event.sha256'],
      ['an erased one with a body', { erasedMs: 1, entity: null }, 'event.body'],
      ['an erased one with a name', { erasedMs: 1, body: null, sha256: '0'.repeat(64) }, 'event.entity'],
      ['no type', { type: null }, 'event.type'],
      ['no time', { created: null }, 'event.created'],
      ['a time that no calendar has', { receivedMs: 9e15 }, 'event.receivedMs'],
      ['a part of a millisecond', { receivedMs: 0.5 }, 'event.receivedMs'],
      ['an id that is no text', { id: 7 }, 'event.id'],
      ['a fingerprint that steers a terminal', { fingerprint: '\u001b[2J' }, 'event.fingerprint'],
      ['half a character in its id', { id: '\ud800' }, 'event.id'],
      ['a field that there is not', { SECRET: 1 }, 'event'],
      ['fewer runs than attempts', { begun: 0, attempts: [{ ...attempt, outcome: 'crashed' }] }, 'event.begun'],
      ['an attempt twice', { attempts: [attempt, attempt] }, 'event.attempts'],
      ['an attempt that failed of nothing', { attempts: [attempt] }, 'event.attempts'],
      ['an outcome that there is not', { attempts: [{ ...attempt, outcome: 'SECRET' }] }, 'event.attempts.0.outcome'],
      ['redeliveries of never', { redeliveries: never }, 'event.redeliveries.count'],
      [
        'redeliveries without a time',
        { redeliveries: { ...never, count: 1, recentMs: [] } },
        'event.redeliveries.recentMs',
      ],
    ])('refuses an event with %s, by the number of its line and without quoting it', async (_, change, path) => {
      const [message, imported] = await refused([FIRST, one, anEvent('two', change), LAST]);
      expect(message).toBe(
        `Line 3 cannot be imported: its ${path} must not have this value. ` +
          'The lines before it were imported. Importing them again is safe.',
      );
      expect(imported).toBe(1);
    });

    it('counts lines as they are in the file, and passes over empty ones', async () => {
      const [message] = await refused([...lines.slice(0, 2), '', '\r', 'SECRET']);
      expect(message).toMatch(/^Line 5 cannot be imported: it is not JSON\./);
      const spaced = lines.flatMap((line) => [`${line}\r`, '']);
      expect(await importEvents(counting([]), spaced, ADA)).toMatchObject({ imported: 2 });
    });

    it('takes hostile text and keys for what they are', async () => {
      const body = bodyOf(HOSTILE, { type: HOSTILE });
      const hostile = anEvent(HOSTILE, { entity: HOSTILE, type: HOSTILE, endpoint: '__proto__', body });
      expect(await importEvents(inbox, [FIRST, one, hostile, LAST], ADA, OURS)).toMatchObject({ imported: 2 });
      const key = { endpoint: '__proto__', id: HOSTILE };
      expect(await inbox.get(key)).toMatchObject({ type: HOSTILE, entity: HOSTILE });
    });

    it('works in small transactions that deliveries can come between, and counts along', async () => {
      const many = manyLines(452);
      const copy = await store.open();
      const progress: number[] = [];
      const batches: number[] = [];
      const operations = operationsOf(copy);
      let delivered = (): void => {};
      const watched: Inbox = {
        ...copy,
        operations: {
          ...operations,
          importSome: async (records, options) => {
            batches.push(records.length);
            const report = await operations.importSome(records, options);
            await new Promise<void>((resolve) => (delivered = resolve));
            return report;
          },
        },
      };
      const importing = importEvents(watched, many, ADA, {
        onProgress: ({ imported }) => void progress.push(imported),
      });
      const { taken, result } = await deliverDuring(copy, importing, (n) => {
        delivered();
        return { id: `new_${n}` };
      });
      expect(result).toMatchObject({ imported: 452 });
      expect(batches).toEqual([100, 100, 100, 100, 52]);
      expect(progress).toEqual([100, 200, 300, 400, 452]);
      expect(taken).toBeGreaterThan(3);
      expect((await auditLines(copy)).lines).toMatchObject([{ counts: { imported: 452, known: 0, different: 0 } }]);
    });

    it('keeps batches of large bodies small', async () => {
      const sizes: number[] = [];
      const data = { id: 'x'.repeat(1_000_000) };
      const large = Array.from({ length: 10 }, (_, n) =>
        anEvent(`large_${n}`, { body: bodyOf(`large_${n}`, { data }) }),
      );
      await importEvents(counting(sizes), [FIRST, ...large, '{"end":{"events":10,"marks":0}}'], ADA);
      expect(sizes).toEqual([2, 2, 2, 2, 2]);
    });

    it('stops when it is told to, and can be run again', async () => {
      const many = manyLines(350);
      const copy = await store.open();
      const stop = new AbortController();
      const report: ImportReport = await importEvents(copy, many, ADA, {
        signal: stop.signal,
        onProgress: () => stop.abort(),
      });
      expect(report).toMatchObject({ imported: 100 });
      expect(await importEvents(copy, many, ADA)).toMatchObject({ imported: 250, known: 100 });
    });

    it('is right in the audit when it breaks down', async () => {
      const copy = await store.open();
      await store.breaksAt(copy, 'evt_250');
      await expect(importEvents(copy, manyLines(350), ADA)).rejects.toThrow(InboxUnavailableError);
      const imported = (await copy.list({ limit: 2_000 })).length;
      expect(imported).toBe(200);
      expect((await auditLines(copy)).lines).toMatchObject([{ counts: { imported } }]);
    });

    it('says in the audit who, why and from where', async () => {
      const copy = await store.open();
      const { audit } = await importEvents(copy, lines, ADA, { from: 'shop.ndjson' });
      expect((await auditLines(copy)).lines).toEqual([
        {
          seq: audit,
          at: new Date(START + 5),
          actor: 'ada',
          via: 'code',
          act: 'import',
          reason: 'a new machine',
          filter: { from: 'shop.ndjson' },
          counts: { imported: 2, known: 0, different: 0 },
        },
      ]);
    });
  });
});

async function storeAll(inbox: Inbox, ...events: readonly IncomingEvent[]): Promise<void> {
  await Promise.all(events.map((event) => inbox.accept(event, later())));
}

function bodyOf(id: string, change: object = {}): string {
  const event = { id, type: 'order.created', created: new Date(START).toISOString(), data: { id: 'ord_1' }, ...change };
  return Buffer.from(JSON.stringify(event)).toString('base64');
}

/** The line of a dead event, with what a test changes. */
function anEvent(id: string, change: object = {}): string {
  const event = {
    endpoint: 'default',
    id,
    type: 'order.created',
    created: { ms: START, ns: 0 },
    entity: 'order::ord_1',
    verified: true,
    state: 'dead',
    deadReason: 'failed',
    receivedMs: START,
    settledMs: START,
    dueMs: START,
    begun: 1,
    failures: 1,
    crashes: 0,
    trigger: 'auto',
    fingerprint: null,
    erasedMs: null,
    body: bodyOf(id),
    sha256: null,
    attempts: [],
    redeliveries: null,
    conflict: null,
  };
  return JSON.stringify({ event: { ...event, ...change } });
}

function manyLines(count: number): readonly string[] {
  const events = Array.from({ length: count }, (_, n) => anEvent(`evt_${n}`));
  return ['{"hookbox":"export","version":1}', ...events, `{"end":{"events":${count},"marks":0}}`];
}

function counting(batches: number[]): Inbox {
  const operations: Pick<Operations, 'note' | 'importSome'> = {
    note: () => Promise.resolve(1),
    importSome: (records) => {
      batches.push(records.length);
      return Promise.resolve({ imported: records.length, known: 0, different: 0 });
    },
  };
  return { operations } as unknown as Inbox; // importing uses nothing else
}

function idsOf(lines: readonly string[]): string[] {
  return lines.slice(1, -1).flatMap((line) => (JSON.parse(line) as { event?: EventKey }).event?.id ?? []);
}

function marksOf(lines: readonly string[]): readonly { readonly entity: string }[] {
  return lines.flatMap((line) => (JSON.parse(line) as { mark?: { entity: string } }).mark ?? []);
}

function summaryOf(inbox: Inbox, key: EventKey) {
  return operationsOf(inbox).summary(key);
}

function withoutSeq<Event extends { readonly seq: number }>(event: Event): Event {
  return { ...event, seq: 0 };
}
