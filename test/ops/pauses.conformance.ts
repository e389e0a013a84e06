import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import type { ClaimedEvent, ClaimRequest } from '../../src/inbox/work.ts';
import { COUNTED } from '../../src/inbox/rules/processors.ts';
import {
  auditLines,
  exportEvents,
  importEvents,
  pausedTypes,
  pauseType,
  resumeType,
  whyWaiting,
} from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { FAILED, failure, handleAgain, key } from './events-in-states.ts';

const CREATED = { type: 'order.created' };
const READY = { type: 'order.ready' };
const ADA: By = { actor: 'ada', via: 'page', reason: 'the till is down', now: START + 1_000 };
const GRACE: By = { actor: 'grace', now: START + 3_000 };
const WEEKS_LATER = START + 30 * 24 * 3_600_000;

export interface PauseStore {
  readonly inbox: Inbox;
  second(): Inbox;
  setAside(): Promise<void>;
}

export const testPauses = suite((open: () => Promise<PauseStore>) => {
  const request: ClaimRequest = { endpoints: '*', types: '*', ordered: true, leaseMs: 60_000, now: START + 2_000 };
  const scopes: readonly (readonly [string, Partial<ClaimRequest>])[] = [
    ['every type and endpoint', {}],
    ['these types', { types: ['order.created', 'order.ready'] }],
    ['one endpoint', { endpoints: ['default'], types: '*' }],
    ['one endpoint and these types', { endpoints: ['default'], types: ['order.ready', 'order.created'] }],
  ];
  const idsOf = (claimed: readonly { readonly id: string }[]) => claimed.map(({ id }) => id);

  it.each(['of\0two', 'of\u00011'])('a pause holds back a type with the odd name %j', async (type) => {
    const { inbox } = await open();
    await store(inbox, { ...orderEvent('one'), type });
    const { pause } = await pauseType(inbox, type, ADA);
    expect(pause?.type).toBe(type);
    expect(await inbox.claim(request, 10)).toEqual([]);
    await resumeType(inbox, type, GRACE);
    expect(await inbox.claim(request, 10)).toMatchObject([{ id: 'one' }]);
  });

  it.each(scopes)(
    'what is paused is stored and claimed by nobody who handles %s, until it is resumed',
    async (_, scope) => {
      const kept = await open();
      const { inbox } = kept;
      const other = kept.second();
      await store(inbox, orderEvent('before'));
      const { pause, changed } = await pauseType(inbox, CREATED.type, ADA);
      expect(pause).toEqual({
        endpoint: 'default',
        type: 'order.created',
        since: new Date(START + 1_000),
        actor: 'ada',
        reason: 'the till is down',
      });
      expect(changed).toBe(true);
      await store(inbox, orderEvent('after'), orderEvent('ready', READY));

      const asked = { ...request, ...scope };
      expect(idsOf(await other.claim(asked, 10))).toEqual(['ready']);
      expect(idsOf(await inbox.claim(asked, 10))).toEqual([]);
      expect(await inbox.claimOne(orderEvent('before'), asked)).toBe('settled');
      expect(await pausedTypes(other)).toEqual([{ ...pause, waiting: 2, more: false }]);
      if (asked.types !== '*') expect(await other.nextDue({ ...asked, types: ['order.created'] })).not.toBe(START);
      expect(await other.nextDue(asked)).toBe(request.now + request.leaseMs);

      expect(await resumeType(other, CREATED.type, GRACE)).toEqual(pause);
      expect(idsOf(await inbox.claim(asked, 10))).toEqual(['before', 'after']);
      expect(await pausedTypes(inbox)).toEqual([]);
    },
  );

  it('a type that nobody has seen is refused, unless that is said', async () => {
    const { inbox } = await open();
    await store(inbox, orderEvent('evt_1'), orderEvent('evt_2', { type: 'loyalty.stored' }));
    await inbox.announce({ endpoints: ['default'], types: ['loyalty.earned'] }, START, null);
    const pause = (type: string, options = {}) => pauseType(inbox, type, ADA, options);
    await expect(pause('order.craeted')).rejects.toThrow('Did you mean order.created?');
    await expect(pause('loyalty.eraned')).rejects.toThrow('Did you mean loyalty.earned?');
    await expect(pause('*')).rejects.toThrow('Unknown type "*"');
    await expect(pause('x\u202e\n'.repeat(30))).rejects.not.toThrow(/[\n\u202e]/);
    expect(await pausedTypes(inbox)).toEqual([]);
    expect((await auditLines(inbox)).lines).toEqual([]);
    for (const type of ['order.cancelled', 'loyalty.earned', 'loyalty.stored']) {
      expect((await pause(type)).changed).toBe(true);
    }
    expect((await pause('order.craeted', { unseen: true })).changed).toBe(true);
    expect(await resumeType(inbox, 'order.craeted', ADA)).not.toBeNull();
  });

  it('only its own endpoint and type are paused, and who did it first stays known', async () => {
    const { inbox } = await open();
    await store(inbox, orderEvent('here'), { ...orderEvent('there'), endpoint: 'shop-b' });
    const { pause } = await pauseType(inbox, CREATED.type, ADA);
    expect(await pauseType(inbox, CREATED.type, GRACE)).toEqual({ pause, changed: false });
    expect(await resumeType(inbox, READY.type, GRACE)).toBeNull();
    expect(idsOf(await inbox.claim(request, 10))).toEqual(['there']);
    expect((await inbox.claim({ ...request, types: ['order.created'] }, 10)).length).toBe(0);

    await resumeType(inbox, CREATED.type, GRACE);
    const { lines } = await auditLines(inbox);
    expect(lines.map(({ act, actor, via, reason, filter }) => ({ act, actor, via, reason, filter }))).toEqual([
      { act: 'resume', actor: 'grace', via: 'code', reason: null, filter: { endpoint: 'default', ...CREATED } },
      {
        act: 'pause',
        actor: 'ada',
        via: 'page',
        reason: 'the till is down',
        filter: { endpoint: 'default', ...CREATED },
      },
    ]);
    for (const type of ['', 'x'.repeat(151)]) {
      await expect(pauseType(inbox, type, ADA)).rejects.toThrow(/type must be a name of 1 to 150 characters/);
    }
  });

  it('pauses at every endpoint that a receiver may have, and refuses what cannot be one', async () => {
    const { inbox } = await open();
    const endpoints = ['n'.repeat(255), 'x/y 50%'];
    for (const endpoint of endpoints) await pauseType(inbox, CREATED.type, ADA, { endpoint });
    expect((await pausedTypes(inbox)).map(({ endpoint }) => endpoint)).toEqual(endpoints);
    const lines: string[] = [];
    for await (const line of exportEvents(inbox, ADA)) lines.push(line);
    for (const endpoint of endpoints) await resumeType(inbox, CREATED.type, GRACE, { endpoint });
    expect(await pausedTypes(inbox)).toEqual([]);
    await importEvents(inbox, lines, GRACE, { trusted: true });
    expect((await pausedTypes(inbox)).map(({ endpoint }) => endpoint)).toEqual(endpoints);
    for (const endpoint of ['', 'n'.repeat(256)]) {
      await expect(pauseType(inbox, CREATED.type, ADA, { endpoint })).rejects.toThrow(
        /endpoint must be a name of 1 to 255 characters/,
      );
    }
  });

  it('holds back newer events of its entity, whoever handles it, and they come after it', async () => {
    const { inbox } = await open();
    await pauseType(inbox, CREATED.type, ADA);
    await store(
      inbox,
      orderEvent('first', { order: 'ord_1' }),
      orderEvent('second', { order: 'ord_1', ...READY, createdAt: 1 }),
      orderEvent('unordered', { order: 'ord_2', ...READY }),
    );
    const ready = { ...request, types: ['order.ready'] };
    const [unordered, ...others] = await inbox.claim(ready, 10);
    expect([unordered?.id, others]).toEqual(['unordered', []]);
    if (unordered !== undefined) await inbox.settle(unordered.lease, { outcome: 'processed' }, START + 2_001);
    for (let more = true; more;) ({ more } = await inbox.announce(ready, WEEKS_LATER, WEEKS_LATER - 1));
    expect(idsOf(await inbox.claim({ ...ready, now: WEEKS_LATER }, 10))).toEqual([]);
    const why = (id: string) => whyWaiting(inbox, key(id), WEEKS_LATER);
    const [pause] = await pausedTypes(inbox);
    expect(await why('first')).toMatchObject({ reason: 'paused', pause: { actor: 'ada', since: pause?.since } });
    expect(await why('second')).toMatchObject({
      reason: 'behind',
      blocker: { event: { id: 'first' }, paused: true },
    });

    await resumeType(inbox, CREATED.type, { ...GRACE, now: WEEKS_LATER });
    const both = { ...request, now: WEEKS_LATER + 1 };
    const [first] = await inbox.claim(both, 10);
    expect(first?.id).toBe('first');
    if (first !== undefined) await inbox.settle(first.lease, { outcome: 'processed' }, WEEKS_LATER + 2);
    expect(idsOf(await inbox.claim({ ...both, now: WEEKS_LATER + 3 }, 10))).toEqual(['second']);
  });

  it('is not ignored and does not count as unhandled, however long it takes', async () => {
    const { inbox } = await open();
    await store(inbox, orderEvent('a'), orderEvent('b', READY));
    await inbox.announce({ endpoints: '*', types: ['order.created', 'order.ready'] }, START, null);
    await pauseType(inbox, CREATED.type, ADA);
    const scope = { endpoints: '*', types: ['order.cancelled'] } as const;
    expect((await inbox.unhandled(WEEKS_LATER)).map(({ type }) => type)).toEqual(['order.ready']);
    const ignored = [];
    for (let more = true; more;) {
      const announced = await inbox.announce(scope, WEEKS_LATER, WEEKS_LATER - 1);
      ignored.push(...announced.ignored);
      more = announced.more;
    }
    expect(ignored).toMatchObject([{ type: 'order.ready', count: 1 }]);
    expect(await pausedTypes(inbox)).toMatchObject([{ waiting: 1 }]);
  });

  it('says that more may wait for it where not everything that is set aside was looked at', async () => {
    const kept = await open();
    const { inbox } = kept;
    const others = Array.from({ length: COUNTED - 1 }, (_, n) => orderEvent(`evt_${n}`, READY));
    await Promise.all(others.map((event) => store(inbox, event)));
    await store(inbox, orderEvent('paused'));
    await pauseType(inbox, CREATED.type, ADA);
    await kept.setAside();
    expect(await pausedTypes(inbox)).toMatchObject([{ waiting: 1, more: false }]);
    await store(inbox, orderEvent('last'));
    await kept.setAside();
    expect(await pausedTypes(inbox)).toMatchObject([{ waiting: 2, more: true }]);
  });

  it('inline: a delivery is stored and answered 200, and a processor handles it after the pause', async () => {
    const { inbox } = await open();
    await pauseType(inbox, CREATED.type, { actor: 'ada' });
    const ran: string[] = [];
    const handlers = { 'order.created': (event: { id: string }) => void ran.push(event.id) };
    await using receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger: silent,
      handlers,
      processing: { mode: 'inline' },
    });
    const { body } = orderEvent('evt_1');
    const outcome = await receiver.receive({ body, signature: signBody(body, SECRET) });
    expect(outcome).toMatchObject({ kind: 'stored', status: 200 });
    expect(ran).toEqual([]);
    await resumeType(inbox, CREATED.type, { actor: 'ada' });
    await using worker = createProcessor({ inbox, logger: silent, handlers });
    await worker.start();
    await expect.poll(() => ran, { timeout: 5_000 }).toEqual(['evt_1']);
  });

  it('lets what runs end as it does, and what fails then waits', async () => {
    const { inbox } = await open();
    await store(inbox, orderEvent('runs'), orderEvent('fails'), orderEvent('dies'));
    const claimed = await inbox.claim(request, 2);
    await pauseType(inbox, CREATED.type, ADA);
    const [runs, fails] = claimed;
    expect(runs && (await inbox.settle(runs.lease, { outcome: 'processed' }, START + 2_001))).toBe(true);
    expect(
      fails &&
        (await inbox.settle(fails.lease, { outcome: 'retry', error: failure, dueAt: START + 2_002 }, START + 2_001)),
    ).toBe(true);
    expect(idsOf(await inbox.claim({ ...request, now: START + 5_000 }, 10))).toEqual([]);
    await resumeType(inbox, CREATED.type, GRACE);
    await handleAgain(inbox, FAILED, orderEvent('dies'));
    expect(idsOf(await inbox.claim({ ...request, now: START + 5_000 }, 10))).toEqual(['fails']);
  });

  const UNTIL = START + 600_000;

  /** A handler has paused order.created since START + 2 s. */
  async function pausedByHandler(): Promise<Inbox> {
    const { inbox } = await open();
    await store(inbox, orderEvent('evt_1'));
    const [one] = await inbox.claim(request, 1);
    await settle(inbox, one, UNTIL);
    return inbox;
  }

  const pausesOf = (inbox: Inbox) => operationsOf(inbox).pausedTypes(request.now);

  async function settle(inbox: Inbox, claimed: ClaimedEvent | undefined, until: number): Promise<void> {
    const error = { name: 'RetryLaterError', message: 'the provider is down', stack: null };
    const retry = { outcome: 'retry', error, dueAt: request.now, isUncounted: true, pauseUntil: until } as const;
    if (claimed !== undefined) await inbox.settle(claimed.lease, retry, request.now);
  }

  it("operators see a handler's pause, its end and its reason, and may end it early", async () => {
    const inbox = await pausedByHandler();
    const pause = {
      endpoint: 'default',
      ...CREATED,
      since: new Date(request.now),
      until: new Date(UNTIL),
      actor: 'processor',
      reason: 'the provider is down',
    };
    expect(await pausesOf(inbox)).toEqual([{ ...pause, waiting: 1, more: false }]);
    expect(await whyWaiting(inbox, key('evt_1'), request.now)).toEqual({ reason: 'paused', pause });
    const act = { endpoint: 'default', ...CREATED };
    expect((await auditLines(inbox)).lines).toMatchObject([
      { act: 'pause', actor: 'processor', reason: pause.reason, filter: act, counts: { seconds: 598 } },
    ]);
    expect(await resumeType(inbox, CREATED.type, GRACE)).toEqual(pause);
    expect(idsOf(await inbox.claim({ ...request, now: START + 3_000 }, 1))).toEqual(['evt_1']);
    expect((await auditLines(inbox)).lines[0]).toMatchObject({ act: 'resume', actor: 'grace' });
  });

  it("a handler's pause whose end has passed is no pause any more, though no process is there", async () => {
    const inbox = await pausedByHandler();
    expect(await operationsOf(inbox).pausedTypes(UNTIL - 1)).toHaveLength(1);
    expect(await operationsOf(inbox).pausedTypes(UNTIL)).toEqual([]);
    expect(await whyWaiting(inbox, key('evt_1'), UNTIL)).toMatchObject({ reason: 'no processor' });
    await inbox.announce({ endpoints: '*', types: ['order.created', 'order.ready'] }, START, null);
    expect(await inbox.unhandled(WEEKS_LATER)).toMatchObject([CREATED]);
    expect(await resumeType(inbox, CREATED.type, { ...GRACE, now: UNTIL })).toBeNull();
  });

  it("a longer wait makes a handler's pause longer without another line in the audit", async () => {
    const { inbox } = await open();
    await store(inbox, orderEvent('evt_1'), orderEvent('evt_2'), orderEvent('evt_3'));
    const [one, two, three] = await inbox.claim(request, 3);
    for (const [claimed, ms] of [
      [one, 0],
      [two, 5_000],
      [three, 1_000],
    ] as const)
      await settle(inbox, claimed, UNTIL + ms);
    expect(await pausesOf(inbox)).toMatchObject([{ until: new Date(UNTIL + 5_000), since: new Date(request.now) }]);
    expect((await auditLines(inbox)).lines).toHaveLength(1);
  });

  it("an operator's pause replaces a handler's, and no handler changes or ends it", async () => {
    const inbox = await pausedByHandler();
    const { pause, changed } = await pauseType(inbox, CREATED.type, GRACE);
    expect([changed, pause.until, pause.actor]).toEqual([true, undefined, 'grace']);
    expect(idsOf(await inbox.claim({ ...request, now: WEEKS_LATER }, 1))).toEqual([]);
    expect(await pausedTypes(inbox)).toMatchObject([{ actor: 'grace' }]);
    await resumeType(inbox, CREATED.type, GRACE);

    const [one] = await inbox.claim({ ...request, now: START + 4_000 }, 1);
    await pauseType(inbox, CREATED.type, ADA);
    await settle(inbox, one, UNTIL);
    expect(await pausedTypes(inbox)).toEqual([
      {
        endpoint: 'default',
        ...CREATED,
        since: new Date(START + 1_000),
        actor: 'ada',
        reason: ADA.reason,
        waiting: 1,
        more: false,
      },
    ]);
    expect(idsOf(await inbox.claim({ ...request, now: WEEKS_LATER }, 1))).toEqual([]);
  });

  it("an export leaves out a handler's pause", async () => {
    const inbox = await pausedByHandler();
    const lines: string[] = [];
    for await (const line of exportEvents(inbox, ADA)) lines.push(line);
    expect(lines.filter((line) => line.includes('"pause"'))).toEqual([]);
  });
});
