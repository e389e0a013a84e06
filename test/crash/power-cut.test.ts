// @module-tag long
// @module-tag dear
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { OFTEN_COPIED } from '../helpers/often-copied.ts';
import { Disk } from './power-cut/disk.ts';
import { cutPower } from './power-cut/power-cuts.ts';
import { compileRecorder, record, type Operation } from './power-cut/recording.ts';
import type { Rewrite } from './power-cut/rewritten-source.ts';
import { ACKNOWLEDGED, DATABASE } from './power-cut/what-is-stored.ts';

const LOG = `${DATABASE}-wal`;

const ANSWERS_BEFORE_COMMIT: Rewrite = [
  '/threads/writer-thread.ts',
  'answer(packOutcomes(moves, commit(moves, isAgain)));',
  `
  let results = [];
  const noted = moves.map((move) => (statements) => {
    const result = runMove(statements.store, move);
    results.push({ result });
    return result;
  });
  const begin = () => ((results = []), connection.begin());
  const answered = () => (answer(packOutcomes(moves, results)), connection.commit());
  commitGroup({ ...connection, begin, commit: answered }, noted);
  `,
];

const COMMITS_WITHOUT_SYNC: Rewrite = [
  '/opening/open.ts',
  "database.pragma('busy_timeout = 0');",
  "database.pragma('busy_timeout = 0'); database.pragma('synchronous = NORMAL');",
];

/** The writer never copies the whole log itself; it waits for the checkpoint thread. */
const BY_THE_OTHER_THREAD: Rewrite = [
  '/opening/checkpoints.ts',
  'if (checkpoint(database).isBusy) this.#pause();',
  'this.#pause();',
];

/** The writer does not sync the frames that it copies, so the disk may lack them. */
const BEGINS_LOG_TOO_EARLY: Rewrite = [
  '/opening/checkpoints.ts',
  "checkpoint(database, isUseful ? 'FULL' : 'NOOP');",
  `
  (database.pragma('synchronous = OFF'), checkpoint(database, isUseful ? 'FULL' : 'NOOP'));
  database.pragma('synchronous = FULL');
  `,
];

const LOST = /the disk has lost of \d+ acknowledged: stored evt_/;
const LOST_OR_UNSOUND = /the disk (?:has lost of \d+ acknowledged|is not sound): /;

const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hookbox-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Recorded = ReturnType<typeof record>;
let recorder: string | undefined;
let asItIs: Recorded | undefined;

function recorded(name: string, ...rewrites: readonly Rewrite[]): Recorded {
  recorder ??= compileRecorder(folder);
  return record(recorder, folder, name, rewrites);
}

function recordedAsItIs(): Recorded {
  return (asItIs ??= recorded('as-it-is', OFTEN_COPIED, BY_THE_OTHER_THREAD));
}

describe('when the power is cut at any write', () => {
  it('what was acknowledged is on the disk, which is sound', async () => {
    const { disks, acknowledged, fault } = await cut(recordedAsItIs().operations);
    expect(fault).toBeNull();
    console.info(`${disks} disks after a power cut, ${acknowledged} acknowledgements`);
  }, 300_000);

  // Otherwise the test proves nothing.
  it('everything was recorded, and there was everything to record', () => {
    const { operations, database } = recordedAsItIs();
    const disk = new Disk();
    for (const operation of operations) disk.do(operation);
    expect(disk.now().get(DATABASE)?.equals(database)).toBe(true);

    const acknowledged = operations.flatMap((operation) =>
      operation.name === ACKNOWLEDGED && operation.kind === 'write' ? [operation.bytes.toString().split(' ')[0]] : [],
    );
    const times = (what: string): number => acknowledged.filter((kind) => kind === what).length;
    expect(times('stored')).toBe(192);
    expect(times('settled')).toBeGreaterThan(5);
    expect(times('effect')).toBeGreaterThan(1);
    const syncs = (name: string): number => operations.filter((one) => one.kind === 'sync' && one.name === name).length;
    expect(syncs(LOG)).toBeGreaterThan(10);
    const begun = operations.filter((one) => one.kind === 'write' && one.name === LOG && one.offset === 0).length;
    expect(begun).toBeGreaterThan(1);
  });

  it('a disk that only says that it has synced the log is found', async () => {
    const lying = recordedAsItIs().operations.map((one): Operation =>
      one.kind === 'sync' && one.name === LOG ? { ...one, begun: 0 } : one,
    );
    expect((await cut(lying)).fault).toMatch(LOST);
  });

  it.each([
    ['answers before it commits', ANSWERS_BEFORE_COMMIT],
    ['commits without a sync', COMMITS_WITHOUT_SYNC],
  ])('a writer that %s is found', async (name, mutant) => {
    const { operations } = recorded(name.replaceAll(' ', '-'), mutant);
    expect((await cut(operations)).fault).toMatch(LOST);
  });

  it('a writer that begins the log anew while frames are missing in the file is found', async () => {
    const { operations } = recorded('too-early', OFTEN_COPIED, BY_THE_OTHER_THREAD, BEGINS_LOG_TOO_EARLY);
    expect((await cut(operations)).fault).toMatch(LOST_OR_UNSOUND);
  });
});

function cut(operations: readonly Operation[]): ReturnType<typeof cutPower> {
  return cutPower(operations, join(folder, 'disk'), pseudorandom());
}

function pseudorandom(): () => number {
  let last = 1;
  return () => {
    last = (last * 48_271) % 2_147_483_647;
    return last / 2_147_483_647;
  };
}
