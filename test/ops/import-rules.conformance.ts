import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { createProcessor } from '../../src/index.ts';
import { ConfigurationError } from '../../src/errors.ts';
import { importEvents, type ImportOptions } from '../../src/ops/import.ts';
import { orderEvent, store as storeIn } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { ANY, key } from './events-in-states.ts';

const ADA = { actor: 'ada' };
const HASH = '0'.repeat(64);
const OURS: ImportOptions = { trusted: true };

type Line = Readonly<Record<string, unknown>>;

const base64 = (body: string): string => Buffer.from(body).toString('base64');
const bodyOf = (id: string, change: object = {}): string =>
  base64(
    JSON.stringify({ id, type: 'order.created', created: '2026-01-01T00:00:00Z', data: { id: 'ord_1' }, ...change }),
  );

function lineOf(change: Line = {}): Line {
  return {
    endpoint: 'default',
    id: 'evt_1',
    type: 'order.created',
    created: { ms: START, ns: 0 },
    entity: 'order::ord_1',
    verified: true,
    state: 'pending',
    deadReason: null,
    receivedMs: START,
    settledMs: null,
    dueMs: START,
    begun: 0,
    failures: 0,
    crashes: 0,
    trigger: 'auto',
    fingerprint: null,
    erasedMs: null,
    body: bodyOf('evt_1'),
    sha256: null,
    attempts: [],
    redeliveries: null,
    conflict: null,
    ...change,
  };
}

const PROCESSED: Line = { state: 'processed', settledMs: START, begun: 1 };
const TOMBSTONE: Line = { ...PROCESSED, body: null, sha256: HASH };
const DEAD: Line = { state: 'dead', deadReason: 'failed', settledMs: START, begun: 1, failures: 1 };

function exportOf(events: readonly Line[], marks: readonly object[] = []): readonly string[] {
  return [
    '{"hookbox":"export","version":1}',
    ...events.map((event) => JSON.stringify({ event })),
    ...marks.map((mark) => JSON.stringify({ mark })),
    JSON.stringify({ end: { events: events.length, marks: marks.length } }),
  ];
}

const said = (what: string): string =>
  `Line 3 cannot be imported: ${what}. The lines before it were imported. Importing them again is safe.`;

export interface ImportedStore {
  open(): Promise<Inbox>;
  /** What breaks the rules of the tables, or is still to come. */
  broken(inbox: Inbox): Promise<readonly unknown[]>;
}

export const testImportRules = suite((store: ImportedStore) => {
  let inbox: Inbox;

  beforeEach(async () => {
    inbox = await store.open();
  });

  async function taken(change: Line, options: ImportOptions = {}) {
    await importEvents(inbox, exportOf([lineOf(change)]), ADA, options);
    const event = await inbox.get(key('evt_1'));
    if (event === null) throw new Error('it did not come in');
    return event;
  }

  async function refusal(change: Line): Promise<string> {
    const failure: unknown = await importEvents(
      inbox,
      exportOf([lineOf({ id: 'one', body: bodyOf('one') }), lineOf(change)]),
      ADA,
    ).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ name: 'ConfigurationError', code: 'INVALID_OPTION' });
    expect(await inbox.list()).toMatchObject([{ id: 'one' }]);
    return (failure as Error).message;
  }

  describe('the body says what an event is, and not its line', () => {
    it('its id: a line about another one is refused by its number, and nothing of it is quoted', async () => {
      expect(await refusal({ body: bodyOf('SECRET') })).toBe(said('its body contains a different id'));
    });

    it.each([
      ['no JSON', 'SECRET'],
      ['no object', '["SECRET"]'],
      ['an object without an id', '{"SECRET":1}'],
      ['an id that no receiver takes', JSON.stringify({ id: 'x'.repeat(256) })],
    ])('a body that is %s is refused', async (_, body) => {
      expect(await refusal({ body: base64(body) })).toBe(said('its body is not valid JSON with an id'));
    });

    it('the other body, too, that came under the id', async () => {
      const conflict = { count: 1, firstMs: START, lastMs: START, recentMs: [START] };
      expect(await refusal({ conflict: { ...conflict, body: bodyOf('SECRET') } })).toBe(
        said('its conflicting body contains a different id'),
      );
      expect(await taken({ conflict: { ...conflict, body: bodyOf('evt_1', { more: 1 }) } })).toMatchObject({
        conflict: { count: 1 },
      });
    });

    it('its type, its time and its entity', async () => {
      const event = await taken({
        type: 'order.cancelled',
        created: { ms: START + 9e9, ns: 7 },
        entity: 'order::other',
      });
      expect(event).toMatchObject({ type: 'order.created', created: { ms: START, ns: 0 }, entity: 'order::ord_1' });
    });

    it('its type and its time also where the line is trusted, which may name the entity by a rule of the merchant', async () => {
      const event = await taken({ type: 'order.cancelled', created: { ms: 0, ns: 7 }, entity: 'table:7' }, OURS);
      expect(event).toMatchObject({ type: 'order.created', created: { ms: START, ns: 0 }, entity: 'table:7' });
    });

    it('its entity by the rule that is given, and none by one that throws', async () => {
      expect(await taken({}, { entity: (event) => `of ${event.id}` })).toMatchObject({ entity: 'of evt_1' });
      const other = lineOf({ id: 'evt_2', body: bodyOf('evt_2') });
      const entity = (): string => {
        throw new Error('no');
      };
      await importEvents(inbox, exportOf([other]), ADA, { entity });
      expect(await inbox.get(key('evt_2'))).toMatchObject({ entity: null });
    });

    it.each(['pending', 'processing'])('whether it is valid: what is %s and fits no schema is dead', async (state) => {
      const event = await taken({ state, body: base64('{"id":"evt_1","type":"order.created"}') }, OURS);
      expect(event).toMatchObject({
        state: 'dead',
        deadReason: 'invalid',
        type: 'order.created',
        created: null,
        entity: null,
      });
      expect(await inbox.claim({ ...ANY, now: Date.now() }, 1)).toEqual([]);
    });

    it.each([
      ['processed', PROCESSED],
      ['ignored', { state: 'ignored', settledMs: START }],
      ['discarded', { state: 'discarded', settledMs: START }],
      ['dead', DEAD],
    ])('what was %s may fit no schema of today, but must have had a type and a time', async (_, settled) => {
      expect(await refusal({ ...settled, body: base64('{"id":"evt_1","type":"order.created"}') })).toBe(
        said('its body is invalid, although its state is that of a valid event'),
      );
      const event = await taken({ ...settled, body: bodyOf('evt_1', { data: { id: 7 } }) });
      expect(event).toMatchObject({ ...('state' in settled && { state: settled['state'] }), created: { ms: START } });
    });

    it('an invalid one stays invalid, though its body fits today: a rerun finds out', async () => {
      const invalid = {
        state: 'dead',
        deadReason: 'invalid',
        settledMs: START,
        created: null,
        entity: null,
        type: null,
      };
      expect(await taken(invalid)).toMatchObject({
        deadReason: 'invalid',
        type: 'order.created',
        created: null,
        entity: null,
      });
    });
  });

  describe('that a signature was verified', () => {
    it.each<[string, Line]>([
      ['a pending one', {}],
      ['a processed one', PROCESSED],
      ['a tombstone', TOMBSTONE],
    ])('is kept of %s only where the lines are trusted', async (_, change) => {
      expect(await taken(change)).toMatchObject({ verified: false });
      const other = await store.open();
      await importEvents(other, exportOf([lineOf(change)]), ADA, OURS);
      expect(await other.list()).toMatchObject([{ verified: true }]);
      const unsigned = await store.open();
      await importEvents(unsigned, exportOf([lineOf({ ...change, verified: false })]), ADA, OURS);
      expect(await unsigned.list()).toMatchObject([{ verified: false }]);
    });

    it('is told to handlers as it is stored, and a delivery that is verified brings it back', async () => {
      await taken({});
      const seen: boolean[] = [];
      const processor = createProcessor({
        inbox,
        handlers: { 'order.created': async (_, { delivery }) => void seen.push(delivery.verified) },
      });
      await processor.start();
      await expect.poll(() => seen).toEqual([false]);
      await processor.close();
      const again = { ...orderEvent('evt_1'), body: Buffer.from(bodyOf('evt_1'), 'base64') };
      await storeIn(inbox, again);
      expect(await inbox.get(again)).toMatchObject({ verified: true, state: 'processed' });
    });
  });

  describe('which event of an entity was the newest that was processed', () => {
    const LATER = { ms: START + 60_000, ns: 0 };
    const mark = { entity: 'order::ord_1', endpoint: 'default', created: LATER };
    const laterBody = bodyOf('evt_2', { created: new Date(LATER.ms).toISOString() });

    const superseded = async (lines: readonly string[], options?: ImportOptions): Promise<boolean | undefined> => {
      await importEvents(inbox, lines, ADA, options);
      await storeIn(inbox, orderEvent('asks', { order: 'ord_1', createdAt: 30 }));
      const [claimed] = await inbox.claim({ ...ANY, types: ['order.created'], now: Date.now() }, 1);
      return claimed?.superseded;
    };

    it.each<[string, readonly string[], boolean, boolean]>([
      ['a mark', exportOf([], [mark]), false, true],
      ['a tombstone', exportOf([lineOf({ ...TOMBSTONE, created: LATER })]), false, true],
      ['a body', exportOf([lineOf({ ...PROCESSED, id: 'evt_2', body: laterBody })]), true, true],
      ['a line that its body does not bear out', exportOf([lineOf({ ...PROCESSED, created: LATER })]), false, false],
      ['the body of one that is dead', exportOf([lineOf({ ...DEAD, id: 'evt_2', body: laterBody })]), false, false],
    ])('is said by %s', async (_, lines, believed, trusted) => {
      expect(await superseded(lines)).toBe(believed);
      inbox = await store.open();
      expect(await superseded(lines, OURS)).toBe(trusted);
    });
  });

  describe('times', () => {
    it('that are still to come count as now, and nothing waits for longer than a day', async () => {
      const far = START + 9e12;
      const before = Date.now();
      const times = { count: 1, firstMs: far, lastMs: far, recentMs: [far] };
      const attempt = {
        number: 1,
        trigger: 'auto',
        outcome: 'interrupted',
        startedMs: far,
        endedMs: far,
        error: null,
      };
      const change = { receivedMs: far, dueMs: far, begun: 1, attempts: [attempt], redeliveries: times };
      const event = await taken(change);
      const after = Date.now();
      const [ran] = await inbox.attempts(event);
      for (const at of [event.receivedAt, event.redeliveries.lastAt, ran?.startedAt, ran?.endedAt]) {
        expect(at?.getTime()).toBeGreaterThanOrEqual(before);
        expect(at?.getTime()).toBeLessThanOrEqual(after);
      }
      expect(await inbox.claim({ ...ANY, now: after }, 1)).toEqual([]);
      expect(await inbox.claim({ ...ANY, now: after + 86_400_000 }, 1)).toHaveLength(1);
    });

    it('of a settled event are no later than now either, so retention finds it', async () => {
      await taken({ ...PROCESSED, settledMs: START + 9e12 });
      expect(await inbox.prune('*', Date.now() + 1, 10)).toBe(1);
    });
  });

  describe('a line that says more than can be', () => {
    const attempt = { number: 1, trigger: 'auto', outcome: 'failed', startedMs: 1, endedMs: 2 };
    const error = { name: 'Error', message: 'no', stack: null };
    const times = { count: 2, firstMs: 1, lastMs: 1, recentMs: [1] };
    const step = { name: 'mail', attempt: 1, atMs: 1, result: null };
    it.each<[string, Line, string]>([
      ['an id that no receiver takes', { id: 'x'.repeat(256), body: bodyOf('x'.repeat(256)) }, 'id'],
      ['no id', { id: '', body: bodyOf('') }, 'id'],
      ['no endpoint', { endpoint: '' }, 'endpoint'],
      ['a long endpoint', { endpoint: 'x'.repeat(1_001) }, 'endpoint'],
      ['a very long entity', { entity: 'x'.repeat(4 * 1024 * 1024 + 1) }, 'entity'],
      ['a very long type', { type: 'x'.repeat(4 * 1024 * 1024 + 1) }, 'type'],
      ['a time before there were such', { receivedMs: -1 }, 'receivedMs'],
      ['a time in the year 10000', { dueMs: 253_402_300_800_000 }, 'dueMs'],
      ['a time that no body can say', { created: { ms: 8e15, ns: 0 } }, 'created.ms'],
      ['very many runs', { begun: 1_000_000_001 }, 'begun'],
      ['more failures than runs', { begun: 1, failures: 1, crashes: 1 }, 'begun'],
      ['a group of what is not dead', { fingerprint: '0123456789abcdef' }, 'fingerprint'],
      ['a group of what crashed', { ...DEAD, deadReason: 'crashed', fingerprint: '0123456789abcdef' }, 'fingerprint'],
      ['a discarded one without a time', { state: 'discarded', settledMs: null }, 'settledMs'],
      [
        'a long name of an error',
        { ...DEAD, attempts: [{ ...attempt, error: { ...error, name: 'x'.repeat(102) } }] },
        'attempts.0.error.name',
      ],
      [
        'a long message',
        { ...DEAD, attempts: [{ ...attempt, error: { ...error, message: 'x'.repeat(2_002) } }] },
        'attempts.0.error.message',
      ],
      [
        'a long stack',
        { ...DEAD, attempts: [{ ...attempt, error: { ...error, stack: 'x'.repeat(8_002) } }] },
        'attempts.0.error.stack',
      ],
      ['a step without JSON', { steps: [{ ...step, result: '{' }] }, 'steps.0.result'],
      ['a step of two lines', { steps: [{ ...step, name: 'a\nb' }] }, 'steps.0.name'],
      ['a step twice', { steps: [step, step] }, 'steps'],
      ['more times than redeliveries', { redeliveries: { ...times, recentMs: [1, 2, 3] } }, 'redeliveries'],
    ])('is refused: %s', async (_, change, path) => {
      expect(await refusal(change)).toBe(said(`its event.${path} must not have this value`));
    });
  });

  it('whatever a line says, it is refused or comes to what the rules of the tables allow', async () => {
    const ms = fc.constantFrom(0, START, START + 9e12, 253_402_300_799_999);
    const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null, freq: 2 });
    const fields = {
      state: fc.constantFrom('pending', 'processing', 'processed', 'dead', 'ignored', 'discarded'),
      deadReason: orNull(fc.constantFrom('failed', 'crashed', 'invalid')),
      settledMs: orNull(ms),
      dueMs: ms,
      receivedMs: ms,
      erasedMs: orNull(ms),
      type: orNull(fc.constantFrom('order.created', 'x')),
      created: orNull(fc.record({ ms, ns: fc.constantFrom(0, 999_999) })),
      entity: orNull(fc.constantFrom('', 'order::ord_1', 'other')),
      fingerprint: orNull(fc.constant('0123456789abcdef')),
      begun: fc.constantFrom(0, 1, 3),
      failures: fc.constantFrom(0, 1),
      crashes: fc.constantFrom(0, 1, 3),
      trigger: fc.constantFrom('auto', 'manual'),
      sha256: orNull(fc.constant(HASH)),
      body: orNull(
        fc.constantFrom(
          bodyOf('ID'),
          bodyOf('other'),
          base64('{"id":"ID"}'),
          base64('{"id":"ID","type":"order.created","created":"2026-01-01T00:00:00Z"}'),
          base64('{"id":"ID","id":"ID","type":"x","created":"never","data":{}}'),
          base64('no JSON'),
        ),
      ),
    };
    const names = Object.keys(fields) as (keyof typeof fields)[];
    const base = fc.constantFrom<Line>({}, PROCESSED, TOMBSTONE, DEAD, { ...DEAD, deadReason: 'invalid' });
    const change = fc
      .tuple(base, fc.record(fields), fc.subarray(names, { maxLength: 3 }))
      .map(([start, all, some]): Line => ({
        ...start,
        ...Object.fromEntries(some.map((name) => [name, all[name]])),
      }));
    let number = 0;
    const came = { in: 0, not: 0 };
    const holds = fc.asyncProperty(change, fc.boolean(), async (changed, trusted) => {
      number += 1;
      const id = `${trusted ? 'ours' : 'others'}_${number}`;
      const mine = (body: string): string =>
        base64(Buffer.from(body, 'base64').toString().replaceAll('"ID"', `"${id}"`));
      const line = lineOf({ id, body: bodyOf('ID'), ...changed });
      const { body } = line;
      const own = exportOf([{ ...line, body: typeof body === 'string' ? mine(body) : null }]);
      try {
        await importEvents(inbox, own, ADA, { trusted });
        came.in += 1;
      } catch (failure) {
        expect(failure).toBeInstanceOf(ConfigurationError);
        came.not += 1;
      }
    });
    await fc.assert(holds, { numRuns: 800 });
    expect(Math.min(came.in, came.not)).toBeGreaterThan(100);
    expect(await store.broken(inbox)).toEqual([]);
  });
});
