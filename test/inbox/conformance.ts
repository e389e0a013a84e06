import * as fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Acceptance, IncomingEvent, StoredEvent } from '../../src/inbox/event.ts';
import { times } from '../helpers/times.ts';
import { InboxModel } from './inbox-model.ts';
import { incoming, invalidIncoming, later, severalIncoming } from '../helpers/incoming-event.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const STORED: Acceptance = { result: 'stored', conflict: false, replaced: false };
const DUPLICATE: Acceptance = { result: 'duplicate', conflict: false, replaced: false };
const CONFLICT: Acceptance = { result: 'duplicate', conflict: true, replaced: false };
const REPLACED: Acceptance = { result: 'duplicate', conflict: false, replaced: true };

export function testInbox(name: string, open: () => Inbox, openToClose = open): void {
  describe(name, () => {
    describe('an event', () => {
      it('is stored once and comes back as it was', async () => {
        await using inbox = open();
        const event = incoming();
        expect(await inbox.accept(event, later())).toEqual(STORED);
        const { body, receivedAt, valid: _, ...kept } = event;
        const stored = await known(inbox);
        expect(stored).toMatchObject({
          ...kept,
          state: 'pending',
          deadReason: null,
          receivedAt: new Date(receivedAt),
          redeliveries: { count: 0, firstAt: null, lastAt: null, recent: [] },
          conflict: null,
        });
        expect(bytes(stored.body)).toEqual(bytes(body));
      });

      it('that nobody sent is null', async () => {
        await using inbox = open();
        await inbox.accept(incoming(), later());
        expect(await inbox.get({ endpoint: 'default', id: 'evt_2' })).toBeNull();
        expect(await inbox.get({ endpoint: 'other', id: 'evt_1' })).toBeNull();
      });

      it('may lack a type and an entity', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ entity: null }), later());
        await inbox.accept(invalidIncoming({ id: 'evt_2' }), later());
        expect((await known(inbox)).entity).toBeNull();
        expect(await known(inbox, 'evt_2')).toMatchObject({ type: null, created: null, entity: null });
      });

      it.each([
        ['nanoseconds', { ms: 1_767_225_600_123, ns: 456_789 }],
        ['the last nanosecond of a millisecond', { ms: 0, ns: 999_999 }],
        ['a year before 1970', { ms: -62_135_596_800_001, ns: 1 }],
        ['the year 9999', { ms: 253_402_300_799_999, ns: 999_999 }],
      ])('keeps the instant it was created: %s', async (_, created) => {
        await using inbox = open();
        await inbox.accept(incoming({ created }), later());
        expect((await known(inbox)).created).toEqual(created);
      });

      it('is dead(invalid) when it fits no schema', async () => {
        await using inbox = open();
        expect(await inbox.accept(invalidIncoming({ type: 'order.created' }), later())).toEqual(STORED);
        expect(await known(inbox)).toMatchObject({ state: 'dead', deadReason: 'invalid', type: 'order.created' });
      });

      it('without a checked signature is marked so', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ verified: false }), later());
        expect((await known(inbox)).verified).toBe(false);
      });
    });

    describe('the key', () => {
      it('is the endpoint and the id together', async () => {
        await using inbox = open();
        const pairs = [
          ['shop', 'evt'],
          ['Shop', 'evt'],
          ['sho', 'pevt'],
          ['shop","evt', ''],
          ['shop\0', 'evt'],
          ['shop', '\0evt'],
          ['evt', 'shop'],
        ].map(([endpoint = '', id = '']) => incoming({ endpoint, id: `${id}!`, body: JSON.stringify([endpoint, id]) }));
        expect(await acceptEach(inbox, pairs)).toEqual(pairs.map(() => STORED));
        for (const { endpoint, id, body } of pairs) {
          const stored = await inbox.get({ endpoint, id });
          expect(stored).toMatchObject({ endpoint, id });
          expect(bytes(stored?.body)).toEqual(bytes(body));
        }
      });

      it('tells ids apart byte by byte', async () => {
        await using inbox = open();
        const events = LOOKALIKES.map((id, n) => incoming({ id, body: `{"n":${n}}` }));
        expect(await acceptEach(inbox, events)).toEqual(events.map(() => STORED));
        expect(await acceptEach(inbox, events)).toEqual(events.map(() => DUPLICATE));
        expect((await inbox.list()).map(({ id }) => id)).toEqual(LOOKALIKES);
        for (const { id, body } of events) expect(bytes((await known(inbox, id)).body)).toEqual(bytes(body));
      });
    });

    describe('the body', () => {
      it.each([
        ['every byte there is', Uint8Array.from({ length: 256 }, (_, byte) => byte)],
        ['a byte order mark', Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d])],
        ['a single zero', Uint8Array.of(0)],
        ['what is no UTF-8', Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80])],
        ['a mebibyte', new Uint8Array(1024 * 1024).map((_, at) => at * 31)],
      ])('comes back exactly, valid or not: %s', async (_, body) => {
        await using inbox = open();
        await inbox.accept(incoming({ body }), later());
        await inbox.accept(invalidIncoming({ id: 'evt_2', body }), later());
        expect(bytes((await known(inbox)).body).equals(body)).toBe(true);
        expect(bytes((await known(inbox, 'evt_2')).body).equals(body)).toBe(true);
      });

      it('may be a view into a larger buffer', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: Buffer.from('before{"a":1}after').subarray(6, 13) }), later());
        expect(text((await known(inbox)).body)).toBe('{"a":1}');
      });

      it('is a copy: the caller may use its buffer again', async () => {
        await using inbox = open();
        const buffer = Buffer.from('{"a":1}');
        await inbox.accept(incoming({ body: buffer }), later());
        buffer.fill('first');
        await inbox.accept(incoming({ body: buffer }), later());
        buffer.fill('other');
        const { body, conflict } = await known(inbox);
        expect([text(body), text(conflict?.body)]).toEqual(['{"a":1}', 'firstfi']);
      });

      it('that was handed out is a copy too', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: '{"a":1}' }), later());
        const { body } = await known(inbox);
        body?.fill(0);
        expect(text((await known(inbox)).body)).toBe('{"a":1}');
      });
    });

    describe('a redelivery', () => {
      it('is a duplicate that changes nothing but the count', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ receivedAt: 1_000 }), later());
        const { redeliveries: _, ...before } = await known(inbox);
        expect(await inbox.accept(incoming({ receivedAt: 2_000, entity: 'other' }), later())).toEqual(DUPLICATE);
        const { redeliveries, ...after } = await known(inbox);
        expect(after).toEqual(before);
        const at = new Date(2_000);
        expect(redeliveries).toEqual({ count: 1, firstAt: at, lastAt: at, recent: [at] });
      });

      it('is counted with the first, the last and the last twenty times, oldest first', async () => {
        await using inbox = open();
        const times = Array.from({ length: 26 }, (_, n) => 1_000 + n);
        await acceptEach(
          inbox,
          times.map((receivedAt) => incoming({ receivedAt })),
        );
        expect((await known(inbox)).redeliveries).toEqual({
          count: 25,
          firstAt: new Date(1_001),
          lastAt: new Date(1_025),
          recent: times.slice(-20).map((ms) => new Date(ms)),
        });
      });

      it('with other bytes is a conflict: the first body wins, the newest other one is kept beside it', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: 'first' }), later());
        for (const [n, body] of ['second', 'third', 'second', 'fourth'].entries()) {
          expect(await inbox.accept(incoming({ body, receivedAt: n }), later())).toEqual(CONFLICT);
        }
        expect(await inbox.accept(incoming({ body: 'first', receivedAt: 4 }), later())).toEqual(DUPLICATE);
        const { body, conflict, redeliveries } = await known(inbox);
        expect(text(body)).toBe('first');
        expect(text(conflict?.body)).toBe('fourth');
        expect(conflict).toMatchObject({ count: 4, firstAt: new Date(0), lastAt: new Date(3) });
        expect(conflict?.recent).toEqual([0, 1, 2, 3].map((ms) => new Date(ms)));
        expect(redeliveries.count).toBe(5);
      });

      it('with other bytes is counted on, beyond the twenty times that are kept', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: 'first' }), later());
        await acceptEach(
          inbox,
          Array.from({ length: 23 }, (_, n) => incoming({ body: `other ${n}`, receivedAt: n })),
        );
        const { conflict } = await known(inbox);
        expect(conflict).toMatchObject({ count: 23, firstAt: new Date(0), lastAt: new Date(22) });
        expect(conflict?.recent.map(Number)).toEqual(Array.from({ length: 20 }, (_, n) => n + 3));
      });

      it('of another length is a conflict as well', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: 'same start' }), later());
        expect(await inbox.accept(incoming({ body: 'same' }), later())).toEqual(CONFLICT);
        expect(await inbox.accept(incoming({ body: 'same start, more' }), later())).toEqual(CONFLICT);
      });

      it('that is valid replaces an invalid body, which is kept beside it', async () => {
        await using inbox = open();
        await inbox.accept(invalidIncoming({ body: 'broken', receivedAt: 1_000 }), later());
        const mended = incoming({ body: 'mended', receivedAt: 2_000, created: { ms: 5, ns: 6 }, entity: 'order::x' });
        expect(await inbox.accept(mended, later())).toEqual(REPLACED);
        const { body, conflict, ...rest } = await known(inbox);
        expect([text(body), text(conflict?.body), conflict?.count]).toEqual(['mended', 'broken', 1]);
        expect(rest).toMatchObject({
          state: 'pending',
          deadReason: null,
          type: 'order.created',
          created: { ms: 5, ns: 6 },
          entity: 'order::x',
          receivedAt: new Date(1_000),
        });
      });

      it('of the same bytes, valid by now, brings an invalid event to life without a conflict', async () => {
        await using inbox = open();
        await inbox.accept(invalidIncoming(), later());
        expect(await inbox.accept(incoming(), later())).toEqual(REPLACED);
        expect(await known(inbox)).toMatchObject({ state: 'pending', conflict: null, redeliveries: { count: 1 } });
      });

      it('that is invalid never replaces a valid body', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: 'valid' }), later());
        expect(await inbox.accept(invalidIncoming({ body: 'broken' }), later())).toEqual(CONFLICT);
        const { body, state, conflict } = await known(inbox);
        expect([text(body), state, text(conflict?.body)]).toEqual(['valid', 'pending', 'broken']);
      });

      it('that is verified replaces an unverified body, which is kept beside it', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: 'claimed', verified: false }), later());
        expect(await inbox.accept(incoming({ body: 'signed' }), later())).toEqual(REPLACED);
        const { body, verified, conflict } = await known(inbox);
        expect([text(body), verified, text(conflict?.body)]).toEqual(['signed', true, 'claimed']);
      });

      it('that is verified replaces an unverified body even if it is invalid itself', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: 'claimed', verified: false }), later());
        expect(await inbox.accept(invalidIncoming({ body: 'signed' }), later())).toEqual(REPLACED);
        const { body, ...rest } = await known(inbox);
        expect(text(body)).toBe('signed');
        expect(rest).toMatchObject({ verified: true, state: 'dead', deadReason: 'invalid', type: null, created: null });
      });

      it('that is unverified never replaces a verified body, not even an invalid one', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ body: 'signed' }), later());
        await inbox.accept(invalidIncoming({ id: 'evt_2', body: 'signed' }), later());
        const claims = ['evt_1', 'evt_2'].map((id) => incoming({ id, body: 'claimed', verified: false }));
        expect(await acceptEach(inbox, claims)).toEqual([CONFLICT, CONFLICT]);
        for (const { id } of claims) {
          const { body, verified, conflict } = await known(inbox, id);
          expect([text(body), verified, text(conflict?.body)]).toEqual(['signed', true, 'claimed']);
        }
        expect((await known(inbox, 'evt_2')).state).toBe('dead');
      });

      it('of the same bytes with a signature makes the event verified', async () => {
        await using inbox = open();
        await inbox.accept(incoming({ verified: false }), later());
        expect(await inbox.accept(incoming(), later())).toEqual(DUPLICATE);
        expect(await known(inbox)).toMatchObject({ verified: true, conflict: null });
        expect(await inbox.accept(incoming({ verified: false }), later())).toEqual(DUPLICATE);
        expect((await known(inbox)).verified).toBe(true);
      });
    });

    describe('many at once', () => {
      it('of one id are stored once, and the rest are duplicates', async () => {
        await using inbox = open();
        const results = await acceptAll(
          inbox,
          Array.from({ length: 64 }, () => incoming()),
        );
        expect(results.filter(({ result }) => result === 'stored')).toHaveLength(1);
        expect(results.filter(({ result }) => result === 'duplicate')).toHaveLength(63);
        expect((await known(inbox)).redeliveries.count).toBe(63);
        expect(await inbox.list()).toHaveLength(1);
      });

      it('of different ids are all stored, in the order of arrival', async () => {
        await using inbox = open();
        const events = severalIncoming(700);
        expect(await acceptAll(inbox, events)).toEqual(events.map(() => STORED));
        const stored = await inbox.list({ limit: 1_000 });
        expect(stored.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
      });

      // Over a network, each of the thousands of commits takes its time.
      it('agree with a simple model of what was promised', { timeout: 300_000 }, async () => {
        await using inbox = open();
        let run = 0;
        await fc.assert(
          fc.asyncProperty(turns, async (turns) => {
            run += 1;
            await agreesWithModel(inbox, `run ${run}`, turns);
          }),
          { numRuns: times(300, 60) },
        );
      });
    });

    describe('the list', () => {
      it('is empty at first', async () => {
        await using inbox = open();
        expect(await inbox.list()).toEqual([]);
      });

      it('gives a hundred unless told otherwise', async () => {
        await using inbox = open();
        await acceptAll(inbox, severalIncoming(120));
        expect(await inbox.list()).toHaveLength(100);
        expect(await inbox.list({ limit: 110 })).toHaveLength(110);
      });

      it('pages through all events in the order of arrival, the cursor being the last seq', async () => {
        await using inbox = open();
        const events = severalIncoming(25);
        await acceptEach(inbox, events);
        await acceptEach(inbox, events.slice(3, 5)); // redelivered events keep their place
        const seen: StoredEvent[] = [];
        const sizes: number[] = [];
        for (;;) {
          const after = seen.at(-1)?.seq;
          const page = await inbox.list(after === undefined ? { limit: 7 } : { after, limit: 7 });
          if (page.length === 0) break;
          sizes.push(page.length);
          seen.push(...page);
        }
        expect(sizes).toEqual([7, 7, 7, 4]);
        expect(seen.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
        expect(seen[3]).toEqual(await known(inbox, 'evt_3'));
        expect(seen[3]?.redeliveries.count).toBe(1);
      });

      it('goes on behind the cursor when more has arrived', async () => {
        await using inbox = open();
        await acceptEach(inbox, severalIncoming(2));
        const last = (await inbox.list()).at(-1)?.seq ?? 0;
        expect(await inbox.list({ after: last })).toEqual([]);
        await inbox.accept(incoming({ id: 'evt_new' }), later());
        expect((await inbox.list({ after: last })).map(({ id }) => id)).toEqual(['evt_new']);
      });
    });

    describe('what it refuses', () => {
      it('is what comes after its deadline: DEADLINE, and nothing is stored', async () => {
        await using inbox = open();
        expect(await refusal(inbox.accept(incoming(), performance.now() - 1))).toBe('DEADLINE');
        expect(await inbox.get(KEY)).toBeNull();
        expect(await inbox.accept(incoming(), later())).toEqual(STORED);
      });

      it('is only what is late, not what arrived together with it', async () => {
        await using inbox = open();
        const [first, late, last] = severalIncoming(3);
        const answers = await Promise.all([
          inbox.accept(first ?? incoming(), later()),
          refusal(inbox.accept(late ?? incoming(), performance.now() - 1)),
          inbox.accept(last ?? incoming(), later()),
        ]);
        expect(answers).toEqual([STORED, 'DEADLINE', STORED]);
        expect((await inbox.list()).map(({ id }) => id)).toEqual(['evt_0', 'evt_2']);
      });

      it('is everything after close: CLOSED', async () => {
        await using inbox = openToClose();
        await inbox.close();
        expect(await refusal(inbox.accept(incoming(), later()))).toBe('CLOSED');
      });
    });

    describe('close', () => {
      it('finishes what is waiting', async () => {
        const inbox = openToClose();
        const events = severalIncoming(600);
        const results: Acceptance[] = [];
        const accepting = events.map(async (event) => results.push(await inbox.accept(event, later())));
        await inbox.close();
        expect(results).toEqual(events.map(() => STORED));
        await Promise.all(accepting);
      });

      it('may be called twice, also at once', async () => {
        const inbox = openToClose();
        const accepting = inbox.accept(incoming(), later());
        await Promise.all([inbox.close(), inbox.close()]);
        await inbox.close();
        expect(await accepting).toEqual(STORED);
      });

      it('is what await using does', async () => {
        const inbox = openToClose();
        {
          await using scoped = inbox;
          await scoped.accept(incoming(), later());
        }
        expect(await refusal(inbox.accept(incoming(), later()))).toBe('CLOSED');
      });
    });
  });
}

/** Ids that careless comparisons take for one another. */
const LOOKALIKES = [
  'evt',
  'EVT',
  'Evt',
  'evt ',
  ' evt',
  'evt\0',
  'evt\0a',
  'evt\0b',
  '\0',
  '\u00e9', // é as one character …
  'e\u0301', // … and as two
  '\u212b', // the Ångström sign …
  '\u00c5', // … and the letter it is normalised to
  'ß',
  'ss',
  '\ufeffevt',
  '1',
  '01',
  '1.0',
  '1e0',
  'null',
  '__proto__',
  'constructor',
  "' OR 1=1 --",
  '%',
  '_',
  'a'.repeat(255),
  'a'.repeat(254),
  '\u{1f600}'.repeat(255),
  `${'\u{1f600}'.repeat(254)}\u{1f601}`,
];

const turns = fc.array(
  fc.array(
    fc.record({
      id: fc.constantFrom('a', 'A', 'b'),
      body: fc.constantFrom('1', '2', '3'),
      valid: fc.boolean(),
      verified: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  { minLength: 1, maxLength: 10 },
);

type Turns = typeof turns extends fc.Arbitrary<infer T> ? T : never;

async function agreesWithModel(inbox: Inbox, endpoint: string, turns: Turns): Promise<void> {
  const model = new InboxModel();
  const before = await lastSeq(inbox);
  let receivedAt = 0;
  for (const turn of turns) {
    const events = turn.map(({ valid, ...rest }) => {
      receivedAt += 1;
      const parts = { ...rest, endpoint, receivedAt };
      return valid ? incoming({ ...parts, entity: `order::${receivedAt}` }) : invalidIncoming(parts);
    });
    const expected = events.map((event) => model.accept(event));
    expectSame(await acceptAll(inbox, events), expected);
  }
  const stored = await inbox.list({ after: before });
  expectSame(
    stored.map(comparable),
    model.ids.map((id) => comparable(model.get(id))),
  );
}

function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

const seen = new WeakMap<Inbox, number>();

async function lastSeq(inbox: Inbox): Promise<number> {
  for (;;) {
    const after = seen.get(inbox) ?? 0;
    const last = (await inbox.list({ after })).at(-1);
    if (last === undefined) return after;
    seen.set(inbox, last.seq);
  }
}

function comparable(event: Omit<StoredEvent, 'seq'> | null) {
  if (event === null) return null;
  const { conflict } = event;
  return {
    ...event,
    seq: null,
    body: text(event.body),
    conflict: conflict === null ? null : { ...conflict, body: text(conflict.body) },
  };
}

async function known(inbox: Inbox, id = KEY.id): Promise<StoredEvent> {
  const event = await inbox.get({ ...KEY, id });
  if (event === null) throw new Error(`${JSON.stringify(id)} is not in the inbox`);
  return event;
}

async function acceptEach(inbox: Inbox, events: readonly IncomingEvent[]): Promise<Acceptance[]> {
  const results: Acceptance[] = [];
  for (const event of events) results.push(await inbox.accept(event, later()));
  return results;
}

function acceptAll(inbox: Inbox, events: readonly IncomingEvent[]): Promise<Acceptance[]> {
  return Promise.all(events.map((event) => inbox.accept(event, later())));
}

async function refusal(accepting: Promise<Acceptance>): Promise<string> {
  const failure: unknown = await accepting.then(
    () => new Error('it was accepted'),
    (failure: unknown) => failure,
  );
  if (failure instanceof InboxUnavailableError) return failure.code;
  throw failure;
}

function bytes(body: Uint8Array | null | undefined): Buffer {
  return Buffer.from(body ?? []);
}

function text(body: Uint8Array | null | undefined): string | null {
  return body ? Buffer.from(body).toString() : null;
}
