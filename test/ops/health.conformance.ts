import { expect, it } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { readiness } from '../../src/ops/health.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { later, severalIncoming } from '../helpers/incoming-event.ts';
import { suite } from '../helpers/suite.ts';

export interface ProbedStore {
  readonly inbox: Inbox;
  readonly rows: () => Promise<readonly number[]>;
  readonly hold: () => Promise<() => Promise<void>>;
  /** How often it has begun to write something and take it back. */
  readonly probed: () => number;
}

export const testHealth = suite((open: () => Promise<ProbedStore>) => {
  it('is ready, and as it was before', async () => {
    const { inbox, rows } = await open();
    const before = await rows();
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
    expect(await rows()).toEqual(before);
    expect(await operationsOf(inbox).totals()).toEqual([]);
  });

  it('is ready while deliveries come in, and they are stored', async () => {
    const { inbox } = await open();
    const accepted = severalIncoming(500).map((event) => inbox.accept(event, later()));
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
    expect((await Promise.all(accepted)).every(({ result }) => result === 'stored')).toBe(true);
  });

  it('is not ready after two seconds of waiting for a lock, and is again afterwards', async () => {
    const { inbox, hold, probed } = await open();
    await inbox.list();
    const letGo = await hold();
    const before = probed();
    const probes = Array.from({ length: 50 }, () => readiness(inbox));
    const pinged = operationsOf(inbox).ping();
    await expect(pinged).rejects.toBeInstanceOf(InboxUnavailableError);
    const expected = { ready: false, code: 'DEADLINE', why: 'the database stayed locked for 2 s' };
    expect(await Promise.all(probes)).toEqual(probes.map(() => expected));
    await letGo();
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
    // Probes do not queue up behind a lock: the first of them was still to be written, and perhaps the one of now.
    expect(probed() - before).toBeLessThanOrEqual(2);
  });

  it('is ready where a delivery can be stored, though what to warn of cannot be found out', async () => {
    const { inbox } = await open();
    const failing = async () => Promise.reject(new Error('canceling statement due to statement timeout'));
    const broken = { ...inbox, operations: { ...operationsOf(inbox), totals: failing } };
    expect(await readiness(broken)).toEqual({
      ready: true,
      unhandled: [],
      warnings: [],
      unwatched: 'canceling statement due to statement timeout',
    });
    let looks = 0;
    const endless = () => {
      looks += 1;
      return new Promise<never>(() => {});
    };
    const stuck = { ...inbox, operations: { ...operationsOf(inbox), totals: endless } };
    const answers = await Promise.all(Array.from({ length: 5 }, () => readiness(stuck)));
    const unwatched = 'checking the inbox took more than 2 s';
    expect(answers).toEqual(answers.map(() => ({ ready: true, unhandled: [], warnings: [], unwatched })));
    expect(looks).toBe(1);
  });
});
