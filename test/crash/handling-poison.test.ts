// @module-tag long
import { expect, it, vi } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { later } from '../helpers/incoming-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { startHandling } from './handling-child.ts';

const INNOCENT = Array.from({ length: 20 }, (_, n) => `evt_${n}`);

it.each([
  ['calls process.exit', 'exit'],
  ['kills its process', 'kill'],
] as const)('an event whose handler %s ends dead(crashed), and the twenty around it are processed', async (_, how) => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  for (const id of INNOCENT.toSpliced(10, 0, 'poison')) await inbox.accept(orderEvent(id), later());
  const stateOf = async (id: string) => (await inbox.get({ endpoint: 'default', id }))?.state;
  const outcomes = async (id: string) =>
    (await inbox.attempts({ endpoint: 'default', id })).map(({ outcome }) => outcome);

  let starts = 0;
  const fatal: (readonly string[])[] = [];
  const settled = async (): Promise<boolean> => {
    const states = await Promise.all([...INNOCENT, 'poison'].map(stateOf));
    return states.every((state) => state === 'processed' || state === 'dead');
  };
  while (!(await settled())) {
    starts += 1;
    expect(starts, 'it goes on crashing').toBeLessThan(10);
    const child = await startHandling(file, how);
    const allSettled = vi.waitUntil(settled, { timeout: 20_000, interval: 25 });
    const end = await Promise.race([child.ended, allSettled]);
    if (end !== true) fatal.push(end.running);
    child.kill();
    await child.ended;
  }

  expect(await inbox.get({ endpoint: 'default', id: 'poison' })).toMatchObject({
    state: 'dead',
    deadReason: 'crashed',
  });
  expect(await outcomes('poison')).toEqual(['crashed', 'crashed', 'crashed']);
  expect(fatal).toHaveLength(3);
  expect(fatal.every((running) => running.includes('poison'))).toBe(true);
  for (const id of INNOCENT) {
    const all = await outcomes(id);
    expect([id, await stateOf(id), all.at(-1)]).toEqual([id, 'processed', 'processed']);
    expect(all.filter((outcome) => outcome === 'crashed').length, id).toBeLessThanOrEqual(1);
  }
  // Some of them ran beside it; otherwise the test was too easy.
  expect(Math.max(...fatal.map((running) => running.length))).toBeGreaterThan(1);
});
