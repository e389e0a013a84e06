import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Child } from '../helpers/child.ts';
import { inOwnMounts } from '../helpers/own-mounts.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';

const SMALL_DISK = new URL('small-disk.ts', import.meta.url);

const PLACEMENTS = ['thread', 'loop'] as const;

const diskReport = z.object({ stored: z.array(z.string()), refused: z.array(z.string()) });

describe.runIf(process.platform === 'linux').each(PLACEMENTS)('a disk of 24 MB: %s', (placement) => {
  it('takes deliveries on and on: the log is copied into the file before it fills the disk', async () => {
    const folder = scratchFolder();
    const mounting = inOwnMounts(`mount -t tmpfs -o size=24m none ${folder}`);
    await using child = new Child(SMALL_DISK, [`${folder}/shop.db`, placement], mounting);
    expect(await child.line()).toBe('ready');
    child.say('1500');
    const { stored, refused } = diskReport.parse(JSON.parse(await child.line()));
    expect([stored.length, refused]).toEqual([1_500, []]);
    await child.finish();
  });
});
