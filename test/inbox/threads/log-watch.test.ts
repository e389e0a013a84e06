import { expect, it } from 'vitest';
import type { SqliteDatabase } from '../../../src/inbox/sqlite/opening/database.ts';
import { LogWatch } from '../../../src/inbox/sqlite/opening/checkpoints.ts';
import { LockLender } from '../../../src/inbox/sqlite/threads/write-lock.ts';

const PAGE_BYTES = 4_096;
const MOST = 800;

/** A log that has only lengths. `did` records checkpoints and requests. */
function watched() {
  const log = { pages: 0, copied: 0, isBusy: false, reader: false, fault: false };
  const did: string[] = [];
  const pragma = (source: string): unknown => {
    if (log.fault) throw new Error('the disk fails');
    if (source === 'page_size') return PAGE_BYTES;
    if (source === 'journal_size_limit') return 2 * MOST * PAGE_BYTES;
    const mode = /\((\w+)\)/.exec(source)?.[1] ?? '';
    if (mode !== 'NOOP') did.push(mode);
    const busy = Number(mode !== 'NOOP' && log.isBusy);
    if (mode !== 'NOOP' && !log.isBusy && !log.reader) log.copied = log.pages;
    return [{ busy, log: log.pages, checkpointed: log.copied }];
  };
  const database = { pragma } as unknown as SqliteDatabase;
  const lock = new LockLender();
  const watch = new LogWatch({ database: () => database }, lock, () => did.push('asked'));
  const write = (pages: number): void => {
    if (log.pages === log.copied && !log.reader) log.pages = log.copied = 0;
    log.pages += pages;
    watch.look();
  };
  return { log, did, lock, watch, write };
}

it('asks once for a long log to be copied, and begins it anew when most is', () => {
  const { log, did, watch, write } = watched();
  for (let n = 0; n < MOST; n += 100) write(100);
  write(100);
  expect(did).toEqual(['asked']);
  log.copied = 850;
  watch.copied(true);
  expect(did).toEqual(['asked', 'FULL']);
  write(MOST - 1);
  expect(log.pages).toBe(MOST - 1);
  expect(did).toHaveLength(2);
  write(1);
  expect(did.slice(2)).toEqual(['asked']);
});

it('copies a log itself that has become twice as long, as long as nobody else does', () => {
  const { did, lock, write } = watched();
  write(MOST);
  write(MOST - 1);
  expect(did).toEqual(['asked']);
  write(1);
  expect(did).toEqual(['asked', 'PASSIVE']);
  expect(lock.isLent).toBe(false);
});

it('waits at twice the length for whoever copies it', () => {
  const { log, did, lock, watch, write } = watched();
  write(MOST);
  log.isBusy = true;
  write(MOST);
  expect(lock.isLent).toBe(true);
  const parked: string[] = [];
  lock.run(() => parked.push('a group'));
  expect(parked).toEqual([]);
  log.isBusy = false;
  watch.copied(true);
  expect(parked).toEqual(['a group']);
  expect(lock.isLent).toBe(false);
  expect(did).toEqual(['asked', 'PASSIVE', 'FULL']);
});

it('does not wait for an answer that came before the lock was back', () => {
  const { log, lock, watch, write } = watched();
  write(MOST);
  log.isBusy = true;
  let giveBack = (): void => {};
  lock.lend((back) => (giveBack = back));
  write(MOST);
  log.isBusy = false;
  watch.copied(true);
  giveBack();
  expect(lock.isLent).toBe(false);
});

it('leaves a log alone that somebody reads, and asks again an eighth later', () => {
  const { log, did, watch, write } = watched();
  log.reader = true;
  write(MOST);
  for (let asked = 1; asked < 20; asked += 1) {
    watch.copied(false);
    write(MOST / 8 - 1);
    expect(did).toHaveLength(asked);
    write(1);
    expect(did).toHaveLength(asked + 1);
  }
  expect(new Set(did)).toEqual(new Set(['asked']));
  log.reader = false;
  watch.copied(true);
  write(1);
  expect(log.pages).toBe(1);
});

it('a log that somebody else has begun anew is short again', () => {
  const { log, did, watch, write } = watched();
  log.reader = true;
  write(5 * MOST);
  watch.copied(false);
  log.pages = log.copied = 0;
  log.reader = false;
  write(MOST - 1);
  expect(did).toEqual(['asked']);
  write(1);
  expect(did).toEqual(['asked', 'asked']);
});

it('asks again after a failure of the file, which the next commit reports', () => {
  const { log, did, watch, write } = watched();
  write(MOST);
  log.fault = true;
  watch.copied(true);
  write(1);
  log.fault = false;
  write(1);
  expect(did).toEqual(['asked', 'asked']);
});
