import { describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { ClaimedEvent, Lease, Settlement } from '../../src/inbox/work.ts';
import { attemptEnding, type AttemptEndingOptions } from '../../src/processing/attempt-ending.ts';
import { LeaseGrace, leaseRenewal } from '../../src/processing/leases.ts';
import type { EndedAttempt, AttemptResult } from '../../src/processing/attempt-log.ts';
import type { LoggedAttempt } from '../../src/processing/run-attempt.ts';
import { Timers } from '../../src/processing/timers.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

const leaseMs = 15_000;
const lease: Lease = { seq: 1, fence: 1 };
const retry = {
  outcome: 'retry',
  error: { name: 'Error', message: 'no', stack: null },
  dueAt: START + 60_000,
} as const satisfies Settlement;

class SetBackClock extends VirtualClock {
  back = 0;

  override now(): number {
    return super.now() - this.back;
  }
}

const CLOSE_MS = 5_000;

function endingWith(settle: Inbox['settle'] = async () => true) {
  const clock = new SetBackClock();
  const timers = new Timers(clock);
  const grace = new LeaseGrace({ leaseMs, lookMs: 1_000, now: clock.now() });
  const failed = vi.fn<(what: string, failure: unknown) => void>();
  const settled: { readonly at: number; readonly lease: Lease; readonly settlement: Settlement }[] = [];
  const announced: Lease[] = [];
  const inbox: Pick<Inbox, 'settle' | 'renew'> = {
    async renew(leases, _, __, isClosing) {
      if (isClosing === true) announced.push(...leases);
      return leases;
    },
    settle(held, settlement, now) {
      settled.push({ at: now - START, lease: held, settlement });
      return settle(held, settlement, now);
    },
  };
  const leases = leaseRenewal({ inbox, clock, timers, grace, leaseMs, failed });
  const ended = vi.fn<AttemptEndingOptions['tell'][number]['ended']>();
  const outlived = vi.fn<(attempt: EndedAttempt) => void>();
  const limits = { leases, closeMs: CLOSE_MS };
  const ending = attemptEnding({ inbox, clock, timers, grace, ...limits, failed, tell: [{ ended, outlived }] });
  return { clock, timers, failed, settled, announced, leases, ended, outlived, ending };
}

function deaf(end: AttemptResult = { outcome: 'interrupted' }) {
  const abort = vi.fn<LoggedAttempt['abort']>();
  const type = 'order.created';
  const about = () => ({ endpoint: 'default', id: 'evt_1', type, attempt: 1, durationMs: 5 });
  return {
    type,
    ended: new Promise(() => {}),
    abort,
    abandon: () => end,
    isOver: () => false,
    about,
    thrown() {},
    ran: {},
    lines: () => [],
  } satisfies LoggedAttempt;
}

describe('how an attempt ended', () => {
  it('is tried each second until it is written, and its lease is kept until then', async () => {
    let isFull = true;
    const { clock, failed, settled, leases, ending } = endingWith(() =>
      isFull ? Promise.reject(new Error('the disk is full')) : Promise.resolve(true),
    );
    const written = ending.write(lease, deaf(), { outcome: 'processed' });
    ending.hold(lease, deaf(), written);
    await clock.advance(2_500);
    expect([leases.held(), failed.mock.calls.length]).toEqual([[lease], 3]);
    isFull = false;
    await clock.advance(1_000);
    expect(await written).toEqual({ outcome: 'processed' });
    expect(settled.map(({ at }) => at)).toEqual([0, 1_000, 2_000, 3_000]);
    expect([leases.held(), clock.waiting]).toEqual([[], 0]);
  });

  it('needs no writing when it had lost its lease', async () => {
    const { settled, leases, ending } = endingWith();
    leases.keep(lease, deaf());
    expect(await ending.write(lease, deaf(), { outcome: 'lost' })).toEqual({ outcome: 'lost' });
    expect([settled, leases.held()]).toEqual([[], []]);
  });

  it.each([true, false])(
    'counts as committed once its transaction was, its lease held until then: %s',
    async (held) => {
      const { settled, leases, ending } = endingWith(() => Promise.resolve(held));
      leases.keep(lease, deaf());
      expect(await ending.write(lease, deaf(), { outcome: 'committed' })).toEqual({ outcome: 'committed' });
      expect([settled.map(({ settlement }) => settlement), leases.held()]).toEqual([[{ outcome: 'committed' }], []]);
    },
  );

  it('counts for nothing when another has taken the event over', async () => {
    const { ending } = endingWith(async () => false);
    expect(await ending.write(lease, deaf(), { outcome: 'processed' })).toEqual({ outcome: 'lost' });
  });

  it('keeps the length of its backoff when the clock is set back before it is written', async () => {
    let isFull = true;
    const { clock, settled, ending } = endingWith(() =>
      isFull ? Promise.reject(new Error('the disk is full')) : Promise.resolve(true),
    );
    const written = ending.write(lease, deaf(), retry);
    await rest();
    isFull = false;
    clock.back = 3_600_000;
    await clock.advance(1_000);
    await written;
    const passed = 1_000;
    expect(settled.at(-1)).toMatchObject({
      at: passed - 3_600_000,
      settlement: { dueAt: retry.dueAt - 3_600_000 + passed },
    });
  });
});

describe('close()', () => {
  it('says so, waits, aborts what runs, waits a fifth of its time, and gives back all that is left at once', async () => {
    const { clock, settled, announced, outlived, ending } = endingWith();
    const attempts = [deaf(), deaf(), deaf()];
    attempts.forEach((attempt, n) => ending.hold({ seq: n, fence: 1 }, attempt, new Promise(() => {})));
    let isClosed = false;
    const closing = ending.close().then(() => (isClosed = true));
    await clock.advance(0);
    expect(announced).toEqual([0, 1, 2].map((seq) => ({ seq, fence: 1 })));
    await clock.advance(0.6 * CLOSE_MS - 1);
    expect(attempts[0]?.abort).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(attempts[0]?.abort).toHaveBeenCalledExactlyOnceWith('closing');
    await clock.advance(0.2 * CLOSE_MS - 1);
    expect([settled, isClosed]).toEqual([[], false]);
    await clock.advance(1);
    await closing;
    const at = 0.8 * CLOSE_MS;
    expect(settled.map(({ at, settlement }) => [at, settlement.outcome])).toEqual([
      [at, 'interrupted'],
      [at, 'interrupted'],
      [at, 'interrupted'],
    ]);
    expect(outlived).toHaveBeenCalledTimes(3);
  });

  it('gives back what a claim brings that is under way, within the same time', async () => {
    const { clock, settled, ending } = endingWith();
    const claimed = Promise.withResolvers<readonly { readonly lease: Lease }[]>();
    const closing = ending.close(claimed.promise.then((all) => ending.giveBackUnrun(Promise.resolve(all as never))));
    await clock.advance(0.7 * CLOSE_MS);
    claimed.resolve([{ lease }]);
    await clock.advance(0);
    await closing;
    expect(settled.map(({ settlement }) => settlement)).toEqual([{ outcome: 'interrupted' }]);
  });

  it('resolves in time although nothing can be given back', async () => {
    const { clock, ending } = endingWith(() => new Promise(() => {}));
    ending.hold(lease, deaf(), new Promise(() => {}));
    let isClosed = false;
    void ending.close().then(() => (isClosed = true));
    await clock.advance(CLOSE_MS - 1);
    expect(isClosed).toBe(false);
    await clock.advance(1);
    expect(isClosed).toBe(true);
  });

  it('lets go of what its transaction has committed', async () => {
    const { clock, settled, ending } = endingWith();
    ending.hold(lease, deaf({ outcome: 'committed' }), new Promise(() => {}));
    const closing = ending.close();
    await clock.advance(CLOSE_MS);
    await closing;
    expect(settled.map(({ settlement }) => settlement)).toEqual([{ outcome: 'committed' }]);
  });

  it.each([
    ['tells how what it gives back has ended, as a handler that was past its time', true],
    ['tells nothing of what another has taken over', false],
  ])('%s', async (_, isHeld) => {
    const { clock, ended, ending } = endingWith(async () => isHeld);
    const attempt = deaf(retry);
    ending.hold(lease, attempt, new Promise(() => {}));
    const closing = ending.close();
    await clock.advance(CLOSE_MS);
    await closing;
    expect(ended.mock.calls).toEqual(isHeld ? [[attempt.about(), retry, undefined]] : []);
  });

  it('tells an end once that two writes find written, as of the first nobody has heard in time', async () => {
    const dead = { outcome: 'dead', reason: 'failed', error: retry.error } as const;
    const answers: (() => void)[] = [];
    const { clock, ended, ending } = endingWith(() => new Promise((resolve) => answers.push(() => resolve(true))));
    const attempt = deaf(dead);
    const written = ending.write(lease, attempt, dead);
    ending.hold(lease, attempt, written);
    const closing = ending.close();
    await clock.advance(CLOSE_MS);
    expect(answers).toHaveLength(2);
    for (const answered of answers) answered();
    await closing;
    await written;
    expect(ended.mock.calls).toEqual([[attempt.about(), dead, undefined]]);
  });

  it('waits for what was claimed too late and is given back', async () => {
    const { promise: claiming, resolve } = Promise.withResolvers<readonly ClaimedEvent[]>();
    const { settled, ending } = endingWith();
    void ending.giveBackUnrun(claiming);
    const closing = ending.close();
    resolve([{ lease } as ClaimedEvent]);
    await closing;
    expect(settled).toEqual([{ at: 0, lease, settlement: { outcome: 'interrupted' } }]);
  });
});
