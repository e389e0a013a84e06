import { expect, it, onTestFinished, vi } from 'vitest';
import { runUpkeep } from '../../src/inbox/operator/turns.ts';

it('counts are put together once a minute, also while a backlog of events is indexed, which may take hours', async () => {
  let ms = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms);
  onTestFinished(() => clock.mockRestore());
  const did: string[] = [];
  let left = 9;
  const operations = {
    indexNew: async () => {
      did.push('index');
      return (left -= 1);
    },
    coarsen: async (before: number) => void did.push(`coarsen ${before}`),
  };
  const isOpen = (): boolean => {
    ms += 20_000;
    return true;
  };
  await runUpkeep(operations, { now: () => 25 * 3_600_000 + 7, isOpen });
  const minute = ['coarsen 7', 'index', 'index', 'index'];
  expect(did).toEqual([...minute, ...minute, ...minute]);
});

it('stops between two steps once it is told to', async () => {
  const did: string[] = [];
  const operations = {
    indexNew: async () => {
      did.push('index');
      return 1;
    },
    coarsen: async () => void did.push('coarsen'),
  };
  await runUpkeep(operations, { now: Date.now, isOpen: () => did.length === 0 });
  expect(did).toEqual(['coarsen', 'index']);
});
