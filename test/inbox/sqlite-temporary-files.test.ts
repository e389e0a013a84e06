import { platform } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openConnection, whyNoTemporaryFiles } from '../../src/inbox/sqlite/opening/better-sqlite.ts';
import { Child } from '../helpers/child.ts';
import { inOwnMounts } from '../helpers/own-mounts.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const SERVER = new URL('without-temporary-files.ts', import.meta.url);
const report = z.object({
  stored: z.number(),
  handled: z.number(),
  ready: z.union([z.literal(true), z.string()]),
  attempts: z.array(z.string()),
  backup: z.string(),
  exported: z.number(),
  log: z.array(z.object({ message: z.string(), facts: z.object({ cause: z.string().optional() }).loose() })),
});
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Puts other disks in place of the folders for temporary files; a checkout that lies in one of them stays in its place. */
function withTemporaryFolders(mounted: string, then: string): readonly string[] {
  return inOwnMounts(`
    mount --bind '${ROOT}' /mnt
    for at in /tmp /var/tmp; do
      mount -t tmpfs ${mounted} none $at
      case '${ROOT}' in $at/*) mkdir -p '${ROOT}'; mount --bind /mnt '${ROOT}';; esac
      ${then}
    done
    cd /proc`);
}

/** As `docker run --read-only` has it; SQLite would take the working directory where no other folder will do. */
const READ_ONLY = withTemporaryFolders('', 'mount -o remount,ro $at');
/** Everything that SQLite may write to is full. */
const FULL = withTemporaryFolders('-o size=4k', 'head -c 4096 /dev/zero > $at/full');

const OF_SQLITE = /\(SQLITE_(CANTOPEN|FULL|IOERR_\w+)\)$/;

async function served(around: readonly string[], source: string): Promise<z.infer<typeof report>> {
  await using server = new Child(SERVER, [scratchFile(), source], around);
  return report.parse(JSON.parse(await server.line()));
}

describe.runIf(platform() === 'linux')('where SQLite can make no temporary file', () => {
  it.each([
    ['as the root is read-only, with a thread', READ_ONLY, 'thread'],
    ['as the root is read-only, on the loop', READ_ONLY, 'loop'],
    ["as the root is read-only, beside a merchant's connection", READ_ONLY, 'merchant in memory'],
    ['as the disk of /tmp is full', FULL, 'thread'],
  ])('a burst is stored and handled, and operators can do their work: %s', async (_, around, source) => {
    const done = await served(around, source);
    expect(done).toMatchObject({ stored: 200, handled: 200, ready: true, backup: 'made', log: [] });
    expect(done.exported).toBeGreaterThan(200);
  });

  describe.each([
    ['as the root is read-only', READ_ONLY],
    ['as the disk of /tmp is full', FULL],
  ])('%s', (_, around) => {
    it("a merchant's connection with temporary files says what to set, and uses up no attempt", async () => {
      const { stored, attempts, log } = await served(around, 'merchant');
      expect(stored).toBe(200);
      expect(log[0]?.message).toContain('PRAGMA temp_store = MEMORY');
      expect(log[0]?.facts.cause).toMatch(OF_SQLITE);
      expect(attempts.length).toBeGreaterThan(0);
      expect(attempts.filter((outcome) => outcome !== 'interrupted' && outcome !== 'running')).toEqual([]);
    });
  });

  it("a merchant's connection without a thread beside it is not ready, and the log has the code", async () => {
    const { ready, log } = await served(READ_ONLY, 'merchant, loop');
    expect(ready).toMatch(OF_SQLITE);
    const claim = log.find(({ message }) => message === 'cannot claim events');
    expect(claim?.facts.cause).toBe(ready);
  });
});

it('every connection of ours has its temporary data in memory', () => {
  const database = openConnection(scratchFile());
  expect(database.pragma('temp_store', { simple: true })).toBe(2);
  database.close();
});

it('elsewhere SQLite can make temporary files', () => {
  expect(whyNoTemporaryFiles()).toBeNull();
});
