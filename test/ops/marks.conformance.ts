import { expect, it, vi } from 'vitest';
import { createProcessor, createReceiver, signBody } from '../../src/index.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { ReleaseSeen } from '../../src/inbox/rules/marks.ts';
import { MARKS_SHOWN } from '../../src/inbox/rules/marks.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { suite } from '../helpers/suite.ts';
import { HOUR, MINUTE, NOON } from './counted.ts';
import type { CountedStore } from './counts.conformance.ts';

/** Minutes after noon, and what began then. */
async function marksOf(inbox: Inbox): Promise<readonly (readonly [minute: number, kind: string, name: string])[]> {
  const marks = await operationsOf(inbox).marks(NOON - HOUR, NOON + 100 * HOUR);
  return marks.map(({ at, kind, name }) => [(at.getTime() - NOON) / MINUTE, kind, name]);
}

function release(
  inbox: Inbox,
  minute: number,
  name: string,
  what: ReleaseSeen['what'] = 'began',
  endpoint = 'default',
): Promise<void> {
  return operationsOf(inbox).noteRelease({ name, endpoint, at: NOON + minute * MINUTE, what });
}

export const testMarks = suite((open: () => Promise<CountedStore>) => {
  it('a release begins once, with however many processes, and a restart begins nothing', async () => {
    const { inbox, another } = await open();
    const other = await another();
    await Promise.all([release(inbox, 0, 'v1'), release(other, 0, 'v1')]);
    await release(inbox, 5, 'v1', 'goes on');
    await release(inbox, 6, 'v1', 'ends');
    await release(inbox, 7, 'v1');
    await release(other, 10_000, 'v1');
    expect(await marksOf(inbox)).toEqual([[0, 'release', 'v1']]);
    expect(await marksOf(other)).toEqual(await marksOf(inbox));
  });

  it('two side by side, as in a rolling deployment, begin once each; a rollback begins the old one again', async () => {
    const { inbox } = await open();
    await release(inbox, 0, 'v1');
    await release(inbox, 58, 'v1', 'goes on');
    await release(inbox, 60, 'v2');
    await release(inbox, 61, 'v1');
    await release(inbox, 62, 'v1', 'ends');
    await release(inbox, 63, 'v1', 'goes on');
    await release(inbox, 64, 'v1');
    expect(await marksOf(inbox)).toEqual([
      [0, 'release', 'v1'],
      [60, 'release', 'v2'],
    ]);
    await release(inbox, 65, 'v1', 'ends');
    await release(inbox, 66, 'v1');
    await release(inbox, 67, 'v2', 'goes on');
    // It was killed, and is not heard of for as long as it takes.
    await release(inbox, 99, 'v2');
    expect((await marksOf(inbox)).slice(2)).toEqual([
      [66, 'release', 'v1'],
      [99, 'release', 'v2'],
    ]);
  });

  it('a rollback so soon that the killed old one still seems to be there begins when the new one is heard of no more', async () => {
    const { inbox } = await open();
    await release(inbox, 0, 'v1');
    await release(inbox, 5, 'v1', 'goes on');
    await release(inbox, 6, 'v2');
    await release(inbox, 10, 'v1');
    await release(inbox, 11, 'v2', 'ends');
    await release(inbox, 15, 'v1', 'goes on');
    await release(inbox, 16, 'v2', 'goes on');
    for (const minute of [20, 25]) await release(inbox, minute, 'v1', 'goes on');
    expect((await marksOf(inbox)).map(([, , name]) => name)).toEqual(['v1', 'v2']);
    for (const minute of [30, 30, 35, 40]) await release(inbox, minute, 'v1', 'goes on');
    expect((await marksOf(inbox)).slice(2)).toEqual([[30, 'release', 'v1']]);
  });

  it('a new secret is one mark, though each process finds out for itself', async () => {
    const { inbox, another } = await open();
    const other = await another();
    const changed = (by: Inbox, endpoint: string, after: number, minute: number) =>
      operationsOf(by).noteSecret({ endpoint, after: NOON + after * MINUTE, at: NOON + minute * MINUTE });
    await changed(inbox, 'default', 9, 10);
    await changed(other, 'default', 4, 200);
    await changed(other, 'shop-2', 4, 10);
    await changed(inbox, 'default', 300, 310);
    expect(await marksOf(inbox)).toEqual([
      [10, 'secret', 'default'],
      [10, 'secret', 'shop-2'],
      [310, 'secret', 'default'],
    ]);
  });

  it('shops that share an inbox have releases of their own: a restart of one begins nothing beside the other', async () => {
    const { inbox } = await open();
    await release(inbox, 0, 'a1', 'began', 'shop-a');
    await release(inbox, 30, 'b7', 'began', 'shop-b');
    await release(inbox, 40, 'a1', 'ends', 'shop-a');
    await release(inbox, 41, 'a1', 'began', 'shop-a');
    await release(inbox, 200, 'a1', 'goes on', 'shop-a');
    expect(await marksOf(inbox)).toEqual([
      [0, 'release', 'a1'],
      [30, 'release', 'b7'],
    ]);
    await release(inbox, 201, 'a1', 'began', '*');
    await release(inbox, 202, 'c1', 'began', '*');
    await release(inbox, 203, 'b7', 'began', 'shop-b');
    expect((await marksOf(inbox)).slice(2)).toEqual([
      [202, 'release', 'c1'],
      [203, 'release', 'b7'],
    ]);
    const marks = await operationsOf(inbox).marks(NOON, NOON + 300 * MINUTE);
    expect(marks.map(({ endpoint }) => endpoint)).toEqual(['shop-a', 'shop-b', '*', 'shop-b']);
  });

  it('of many the newest of a span are told, the oldest first', async () => {
    const { inbox } = await open();
    for (let n = 0; n < MARKS_SHOWN + 5; n += 1) await release(inbox, n, `v${n}`);
    const marks = await marksOf(inbox);
    expect(marks).toHaveLength(MARKS_SHOWN);
    expect([marks[0]?.[2], marks.at(-1)?.[2]]).toEqual(['v5', `v${MARKS_SHOWN + 4}`]);
    expect(await operationsOf(inbox).marks(NOON, NOON + MINUTE)).toHaveLength(1);
  });

  it('receivers and processors say which release they are, and see that the secret has changed', async () => {
    const { inbox } = await open();
    const clock = { now: () => NOON, after: () => () => {} };
    const logger = false;
    const receiver = createReceiver({ inbox, secret: ['old', 'new'], release: 'v1\u202e', clock, logger });
    const { body } = orderEvent('evt_1');
    for (const secret of ['old', 'old', 'new', 'old', 'new']) {
      await receiver.receive({ body, signature: signBody(body, secret) });
    }
    await receiver.receive({ body, signature: signBody(body, 'forged') });
    const both = [
      [0, 'release', 'v1\u202e'],
      [0, 'secret', 'default'],
    ];
    await vi.waitFor(async () => expect(new Set(await marksOf(inbox))).toEqual(new Set(both)), { timeout: 20_000 });
    await receiver.close();

    const processor = createProcessor({ inbox, handlers: {}, release: 'v2', clock, logger });
    await processor.start();
    await vi.waitFor(async () => expect((await marksOf(inbox)).map(([, , name]) => name)).toContain('v2'), {
      timeout: 20_000,
    });
    await processor.close();
    // It has ended, so that the old one begins again.
    const again = createReceiver({ inbox, secret: 'new', release: 'v1\u202e', clock, logger });
    await again.receive({ body, signature: signBody(body, 'new') });
    await again.close();
    const { length } = (await marksOf(inbox)).filter(([, kind]) => kind === 'release');
    expect(length).toBe(3);
  });
});
