import { describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Lease } from '../../src/inbox/work.ts';
import { LeaseGrace, leaseRenewal } from '../../src/processing/leases.ts';
import type { RunningAttempt } from '../../src/processing/run-attempt.ts';
import { Timers } from '../../src/processing/timers.ts';
import { START, VirtualClock } from '../helpers/virtual-clock.ts';

const LEASE_MS = 15_000;
const one: Lease = { seq: 1, fence: 1 };
const two: Lease = { seq: 2, fence: 1 };

function renewing(renew: Inbox['renew'] = async (leases) => leases) {
  const clock = new VirtualClock();
  const timers = new Timers(clock);
  const grace = new LeaseGrace({ leaseMs: LEASE_MS, lookMs: 1_000, now: clock.now() });
  const failed = vi.fn<(what: string, failure: unknown) => void>();
  const renewed: { readonly at: number; readonly seqs: readonly number[]; readonly closing?: true }[] = [];
  const inbox: Pick<Inbox, 'renew'> = {
    renew(leases, now, leaseMs, isClosing) {
      const seqs = leases.map(({ seq }) => seq);
      renewed.push({ at: now - START, seqs, ...(isClosing === true && { closing: true }) });
      return renew(leases, now, leaseMs, isClosing);
    },
  };
  const leases = leaseRenewal({ inbox, clock, timers, grace, leaseMs: LEASE_MS, failed });
  return { clock, timers, failed, renewed, leases };
}

function attempt() {
  const abort = vi.fn<RunningAttempt['abort']>();
  return { ended: new Promise(() => {}), abort, abandon: () => ({ outcome: 'interrupted' }) } satisfies RunningAttempt;
}

describe('leases that are held', () => {
  it('are renewed together, thrice in the time that they last, as long as they are held', async () => {
    const { clock, renewed, leases } = renewing();
    leases.keep(one, attempt());
    await clock.advance(3_000);
    leases.keep(two, attempt());
    await clock.advance(7_000);
    leases.letGo(one);
    await clock.advance(5_000);
    expect(renewed).toEqual([
      { at: 5_000, seqs: [1, 2] },
      { at: 10_000, seqs: [1, 2] },
      { at: 15_000, seqs: [2] },
    ]);
    expect(leases.held()).toEqual([two]);
  });

  it('are renewed at once when their processor closes, which the inbox is told from then on', async () => {
    const { clock, renewed, leases } = renewing();
    leases.close(); // nothing is held
    await clock.advance(0);
    expect([renewed, clock.waiting]).toEqual([[], 0]);
    leases.keep(one, attempt());
    await clock.advance(1_000);
    leases.close();
    await clock.advance(5_000);
    expect(renewed).toEqual([
      { at: 1_000, seqs: [1], closing: true },
      { at: 6_000, seqs: [1], closing: true },
    ]);
  });

  it('are renewed once more where their processor closes during a renewal, and again where that fails', async () => {
    const answers: PromiseWithResolvers<void>[] = [];
    const { clock, renewed, leases } = renewing(async (held) => {
      const answer = Promise.withResolvers<void>();
      answers.push(answer);
      await answer.promise;
      return held;
    });
    leases.keep(one, attempt());
    await clock.advance(5_000);
    leases.close();
    answers[0]?.resolve();
    await clock.advance(0);
    answers[1]?.reject(new Error('the disk is full'));
    await clock.advance(1_000);
    expect(renewed).toEqual([
      { at: 5_000, seqs: [1] },
      { at: 5_000, seqs: [1], closing: true },
      { at: 6_000, seqs: [1], closing: true },
    ]);
  });

  it('leave no timer behind once nothing is held, and are renewed again when something is', async () => {
    const { clock, renewed, leases } = renewing();
    leases.keep(one, attempt());
    leases.letGo(one);
    expect(clock.waiting).toBe(0);
    await clock.advance(60_000);
    leases.keep(two, attempt());
    await clock.advance(5_000);
    expect(renewed).toEqual([{ at: 65_000, seqs: [2] }]);
    leases.letGo(two);
    expect(clock.waiting).toBe(0);
  });

  it('have one turn at a time, however long one takes', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { clock, renewed, leases } = renewing(async (held) => {
      await promise;
      return held;
    });
    leases.keep(one, attempt());
    await clock.advance(5_000);
    leases.letGo(one);
    leases.keep(two, attempt());
    await clock.advance(20_000);
    expect(renewed).toHaveLength(1);
    resolve();
    await clock.advance(5_000);
    expect(renewed.slice(1)).toEqual([{ at: 30_000, seqs: [2] }]);
  });

  it('are tried again a second later when they could not be renewed, which is told', async () => {
    let isFull = true;
    const { clock, renewed, failed, leases } = renewing((held) =>
      isFull ? Promise.reject(new Error('the disk is full')) : Promise.resolve(held),
    );
    leases.keep(one, attempt());
    await clock.advance(6_500);
    isFull = false;
    await clock.advance(6_000);
    expect(renewed.map(({ at }) => at)).toEqual([5_000, 6_000, 7_000, 12_000]);
    expect(failed.mock.calls.map(([what]) => what)).toEqual(['cannot renew leases', 'cannot renew leases']);
  });

  it('are renewed no more after the timers have ended', async () => {
    const { clock, timers, renewed, leases } = renewing();
    leases.keep(one, attempt());
    timers.stop();
    leases.keep(two, attempt());
    await clock.advance(60_000);
    expect([renewed, clock.waiting]).toEqual([[], 0]);
  });
});

it('an attempt whose event another has taken over is told, and no other', async () => {
  const { clock, leases } = renewing(async (held) => held.filter(({ seq }) => seq !== 1));
  const [lost, kept] = [attempt(), attempt()];
  leases.keep(one, lost);
  leases.keep(two, kept);
  await clock.advance(5_000);
  expect(lost.abort).toHaveBeenCalledExactlyOnceWith('lost');
  expect(kept.abort).not.toHaveBeenCalled();
});
