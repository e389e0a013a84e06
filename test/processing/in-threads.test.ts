// @module-tag long
import { describe, expect, it, vi } from 'vitest';
import '../helpers/inbox-in-thread.ts';
import { startedThreads } from '../runtimes/started-threads.ts';

const threads = startedThreads();

// Suites that say nothing of where the disk is waited for hold by threads, too; what only the event loop promises says so.
vi.mock('../helpers/inbox-on-loop.ts', () => import('../helpers/inbox-in-thread.ts'));

describe('by threads: a processor', async () => {
  await import('./processor.test.ts');
});
describe('by threads: inline mode', async () => {
  await import('./inline.test.ts');
});
describe('by threads: ctx.transaction', async () => {
  await import('./transaction.test.ts');
});
describe('by threads: group commits', async () => {
  await import('../inbox/sqlite-group-commit.test.ts');
});

it('these were threads', () => {
  expect(threads.filter(({ entry }) => entry === 'writer-thread').length).toBeGreaterThan(20);
});
