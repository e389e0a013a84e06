// @module-tag long
import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING, type CrashedEvent } from '../../../src/inbox/work.ts';
import { createProcessor } from '../../../src/processing/processor.ts';
import { createReceiver } from '../../../src/receive/receiver.ts';
import { incoming, later, severalIncoming } from '../../helpers/incoming-event.ts';
import { orderDelivery, SECRET } from '../../helpers/order-delivery.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { lostAnswers } from './lost-answers.ts';

const CLAIM = { ...EVERYTHING, leaseMs: 60_000, ordered: false } as const;
const KEY = { endpoint: 'default', id: 'evt_1' };

async function outcomes(inbox: Inbox, key = KEY) {
  return (await inbox.attempts(key)).map(({ outcome }) => outcome);
}

async function counted(inbox: Inbox, what: string): Promise<number> {
  const totals = (await inbox.operations?.totals()) ?? [];
  return totals.filter((total) => total.what === what).reduce((sum, { count }) => sum + count, 0);
}

function inline(runs: string[]) {
  const log = recordedLog();
  const inbox = sqliteInbox(scratchFile());
  const handlers = { '*': ({ id }: { readonly id: string }) => void runs.push(id) };
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    handlers,
    logger: log.logger,
    processing: { mode: 'inline', leaseMs: 60_000 },
  });
  return { inbox, receiver, log };
}

describe('a writer that dies between a commit and its answer', () => {
  it('has ended an attempt: that is answered as it is, once', async () => {
    const answers = lostAnswers();
    const runs: string[] = [];
    const { inbox, receiver, log } = inline(runs);
    await receiver.receive(orderDelivery('first'));
    answers.loseNext('settle');
    expect(await receiver.receive(orderDelivery('evt_1'))).toMatchObject({ status: 200 });
    expect(answers.lost).toEqual(['settle']);
    expect([await outcomes(inbox), runs]).toEqual([['processed'], ['first', 'evt_1']]);
    expect(await counted(inbox, 'processed')).toBe(2);
    expect(log.lines.filter(({ message }) => message.includes('lost'))).toEqual([]);
    await receiver.close();
    await inbox.close();
  });

  it.each(['retry', 'dead', 'interrupted'] as const)(
    'has ended one as %s: that is true while nobody has claimed its event since',
    async (end) => {
      const answers = lostAnswers();
      await using inbox = sqliteInbox(scratchFile());
      await inbox.accept(incoming(), later());
      const now = Date.now();
      const [one] = await inbox.claim({ ...CLAIM, now }, 1);
      if (one === undefined) throw new Error('nothing was claimed');
      const error = { name: 'Error', message: 'fails', stack: null };
      const settlement = { outcome: end, error, dueAt: now, reason: 'failed' } as const;
      answers.loseNext('settle');
      await expect(inbox.settle(one.lease, settlement, now)).rejects.toMatchObject({ code: 'FAILED' });
      expect(await inbox.settle(one.lease, settlement, now)).toBe(true);
      expect(await inbox.settle(one.lease, { outcome: 'processed' }, now)).toBe(false);
      if (end === 'dead') await inbox.rerun(KEY, incoming(), now);
      expect(await inbox.settle(one.lease, settlement, now)).toBe(true);
      expect(await inbox.claim({ ...CLAIM, now: now + 3_600_000 }, 1)).toHaveLength(1);
      expect(await inbox.settle(one.lease, settlement, now)).toBe(false);
      expect(await outcomes(inbox)).toHaveLength(1);
    },
  );

  it('has claimed one event: the next delivery of it runs its handler, and nothing has crashed', async () => {
    const answers = lostAnswers();
    const runs: string[] = [];
    const { inbox, receiver } = inline(runs);
    await receiver.receive(orderDelivery('first'));
    for (let deaths = 0; deaths < 4; deaths += 1) {
      answers.loseNext('claimOne');
      expect(await receiver.receive(orderDelivery('evt_1'))).toMatchObject({ status: 503 });
    }
    expect(await inbox.get(KEY)).toMatchObject({ state: 'processing' });
    expect(await receiver.receive(orderDelivery('evt_1'))).toMatchObject({ status: 200 });
    expect(runs).toEqual(['first', 'evt_1']);
    const given = Array.from({ length: 4 }, () => 'interrupted');
    expect(await outcomes(inbox)).toEqual([...given, 'processed']);
    await receiver.close();
    await inbox.close();
  });

  it('has claimed events: they are claimed again within seconds, though nothing is due', async () => {
    const answers = lostAnswers();
    await using inbox = sqliteInbox(scratchFile());
    const runs: string[] = [];
    const handlers = { '*': ({ id }: { readonly id: string }) => void runs.push(id) };
    const { logger } = recordedLog();
    const receiver = createReceiver({ secret: SECRET, inbox, logger });
    await using processor = createProcessor({ inbox, handlers, logger, processing: { leaseMs: 60_000 } });
    await processor.start();
    await receiver.receive(orderDelivery('first'));
    await expect.poll(() => outcomes(inbox, { ...KEY, id: 'first' })).toEqual(['processed']);
    for (let deaths = 1; deaths <= 3; deaths += 1) {
      answers.loseNext('claim');
      if (deaths === 1) await receiver.receive(orderDelivery('evt_1'));
      await expect.poll(() => answers.lost.length, { timeout: 10_000 }).toBe(deaths);
    }
    await expect.poll(() => runs, { timeout: 10_000 }).toEqual(['first', 'evt_1']);
    await expect.poll(() => outcomes(inbox)).toEqual(['interrupted', 'interrupted', 'interrupted', 'processed']);
    await receiver.close();
  });

  it('has stored an event as running: the next claim gives it back, and nothing has crashed', async () => {
    const answers = lostAnswers();
    await using inbox = sqliteInbox(scratchFile());
    const now = Date.now();
    const start = { now, leaseMs: 60_000, ordered: true };
    await inbox.accept(incoming({ id: 'first', entity: null }), later(), start);
    answers.loseNext('accept');
    await expect(inbox.accept(incoming(), later(), start)).rejects.toMatchObject({ code: 'FAILED' });
    expect(await inbox.get(KEY)).toMatchObject({ state: 'processing' });
    expect(await inbox.accept(incoming(), later(), start)).toMatchObject({ result: 'duplicate' });
    const claimed = await inbox.claim({ ...CLAIM, now }, 9);
    expect(claimed.map(({ id, attempt, failures }) => [id, attempt, failures])).toEqual([['evt_1', 2, 0]]);
    expect(await outcomes(inbox)).toEqual(['interrupted']);
  });

  it('before the clock is set back: the next claim gives its leases back, in however many transactions it follows', async () => {
    const answers = lostAnswers();
    await using inbox = sqliteInbox(scratchFile());
    const now = Date.now();
    const waiting = severalIncoming(1_200, { receivedAt: now, entity: null, type: 'waiting' });
    await Promise.all(waiting.map((event) => inbox.accept({ ...event, id: `waiting ${event.id}` }, later())));
    await inbox.accept(incoming({ receivedAt: now }), later());
    const claim = { ...CLAIM, types: ['order.created'] };
    await inbox.claim({ ...CLAIM, types: ['elsewhere'], now }, 1);
    answers.loseNext('claim');
    await expect(inbox.claim({ ...claim, now }, 1)).rejects.toMatchObject({ code: 'FAILED' });
    const again = await inbox.claim({ ...claim, now: now - 3_600_000 }, 1);
    expect(again.map(({ id, attempt, failures }) => [id, attempt, failures])).toEqual([['evt_1', 2, 0]]);
    expect(await outcomes(inbox)).toEqual(['interrupted']);
  });

  it('while another process, and other claims of this one, hold theirs: those are left alone', async () => {
    const answers = lostAnswers();
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    await using other = sqliteInbox(file, { thread: false });
    await Promise.all(severalIncoming(6, { entity: null }).map((event) => inbox.accept(event, later())));
    const now = Date.now();
    const [mine] = await inbox.claim({ ...CLAIM, now }, 1);
    const [theirs] = await other.claim({ ...CLAIM, now }, 1);
    answers.loseNext('claim');
    const claiming = inbox.claim({ ...CLAIM, now }, 2);
    await expect(claiming).rejects.toMatchObject({ code: 'FAILED' });
    const [theirNext] = await other.claim({ ...CLAIM, now }, 1);
    const again = await inbox.claim({ ...CLAIM, now }, 9);
    expect(again.map(({ id, attempt }) => [id, attempt])).toEqual([
      ['evt_5', 1],
      ['evt_2', 2],
      ['evt_3', 2],
    ]);
    for (const [held, by] of [
      [mine, inbox],
      [theirs, other],
      [theirNext, other],
    ] as const) {
      expect(held && (await by.settle(held.lease, { outcome: 'processed' }, now))).toBe(true);
    }
    for (const { lease } of again) expect(await inbox.settle(lease, { outcome: 'processed' }, now)).toBe(true);
    expect(await outcomes(inbox, { ...KEY, id: 'evt_2' })).toEqual(['interrupted', 'processed']);
  });
});

it.each(['claim', 'claimOne'] as const)(
  'a writer that dies between the commit of a %s and its answer has found a crash: the next claim tells of it, once',
  async (how) => {
    const answers = lostAnswers();
    await using inbox = sqliteInbox(scratchFile());
    const now = Date.now();
    await inbox.accept(incoming({ receivedAt: now }), later());
    await inbox.claim({ ...CLAIM, leaseMs: 1_000, now }, 1);
    const told: CrashedEvent[] = [];
    const tell = (crashed: readonly CrashedEvent[]) => void told.push(...crashed);
    const again = { ...CLAIM, endpoints: ['elsewhere'], now: now + 2_000 };
    const claim = () => (how === 'claim' ? inbox.claim(again, 1, tell) : inbox.claimOne(KEY, again, tell));
    answers.loseNext(how);
    await expect(claim()).rejects.toMatchObject({ code: 'FAILED' });
    expect([answers.lost, told]).toEqual([[how], []]);
    for (let n = 0; n < 3; n += 1) await claim();
    const about = { endpoint: 'default', id: 'evt_1', type: 'order.created', error: null };
    expect(told).toEqual([{ ...about, attempt: 1, deadReason: null, dueAt: expect.any(Number) }]);
  },
);
