import { expect, it, vi } from 'vitest';
import { createProcessor, createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Operations } from '../../src/inbox/contract.ts';
import type { Scope } from '../../src/inbox/work.ts';
import type { ReleaseSeen } from '../../src/inbox/rules/marks.ts';
import { SEEN_EVERY_MS } from '../../src/inbox/rules/marks.ts';
import { releaseNote } from '../../src/processing/release.ts';

function noting(answer: (seen: ReleaseSeen) => Promise<void>) {
  const seen: string[] = [];
  const noteRelease: Operations['noteRelease'] = (each) => {
    seen.push(each.what);
    return answer(each);
  };
  return { seen, inbox: { operations: { noteRelease } as Operations } };
}

it.each([[''], [' '], ['x'.repeat(101)], ['\ud800'], [42], [null]])('%o is no name of a release', (release) => {
  const options = { inbox: memoryInbox(), handlers: {}, release } as never;
  const refusal = expect.objectContaining({
    name: 'ConfigurationError',
    message: expect.stringContaining('release must'),
  });
  expect(() => createProcessor(options)).toThrow(refusal);
  expect(() => createReceiver({ secret: 's', inbox: memoryInbox(), release } as never)).toThrow(refusal);
});

it('is noted at the beginning, while it goes on, and at the end; what failed is noted again', async () => {
  vi.useFakeTimers();
  try {
    let fails = true;
    const { seen, inbox } = noting(() => (fails ? Promise.reject(new Error('locked')) : Promise.resolve()));
    const note = releaseNote(inbox, { release: 'v1', endpoints: '*', now: Date.now });
    note.begin();
    note.begin();
    await vi.advanceTimersByTimeAsync(SEEN_EVERY_MS / 2);
    expect(new Set(seen)).toEqual(new Set(['began']));
    fails = false;
    const failed = seen.length;
    await vi.advanceTimersByTimeAsync(2 * SEEN_EVERY_MS);
    await note.end();
    await note.end();
    await vi.advanceTimersByTimeAsync(2 * SEEN_EVERY_MS);
    expect(seen.slice(failed)).toEqual(['began', 'goes on', 'ends']);
  } finally {
    vi.useRealTimers();
  }
});

it('a database that hangs keeps nobody from closing', async () => {
  vi.useFakeTimers();
  try {
    const { seen, inbox } = noting(() => new Promise(() => {}));
    const note = releaseNote(inbox, { release: 'v1', endpoints: '*', now: Date.now });
    note.begin();
    let ended = false;
    const end = note.end().then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ended).toBe(true);
    await end;
    expect(seen).toEqual(['began']);
  } finally {
    vi.useRealTimers();
  }
});

it('is noted nowhere where operators cannot look, and not without a name', async () => {
  const { seen, inbox } = noting(async () => {});
  const told = { endpoints: ['default'], now: Date.now };
  for (const note of [
    releaseNote(inbox, { ...told, release: undefined }),
    releaseNote({}, { ...told, release: 'v1' }),
  ]) {
    note.begin();
    await note.end();
  }
  expect(seen).toEqual([]);
});

it.each<[Scope['endpoints'], string]>([
  [['shop-a'], 'shop-a'],
  [['shop-a', 'shop-b'], '*'],
  ['*', '*'],
])('is noted with the endpoint that the process serves: %j', async (endpoints, endpoint) => {
  const noted: ReleaseSeen[] = [];
  const noteRelease: Operations['noteRelease'] = async (seen) => void noted.push(seen);
  const note = releaseNote({ operations: { noteRelease } as Operations }, { release: 'v1', endpoints, now: () => 5 });
  note.begin();
  await note.end();
  expect(noted).toEqual(['began', 'ends'].map((what) => ({ name: 'v1', endpoint, at: 5, what })));
});
