import { chmodSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Child } from '../../helpers/child.ts';
import { seenByAnotherProcess } from '../../helpers/other-sqlite.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';

const SERVER = new URL('denied-process.ts', import.meta.url);
const report = z.object({ results: z.array(z.string()), threads: z.number(), warnings: z.number() });

describe('threads that cannot have what the process has open', () => {
  it.runIf(process.getuid?.() === 0)('as it has given up its rights since: all is done on the event loop', async () => {
    const file = scratchFile();
    chmodSync(dirname(file), 0o755);
    await using server = new Child(SERVER, [file, 'user']);
    expect(report.parse(JSON.parse(await server.line()))).toMatchObject({ results: ['stored', 'stored'], warnings: 1 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it.runIf(platform() === 'linux')(
    'as no descriptors are left at that moment: it is done on the event loop, and tried again later',
    async () => {
      const file = scratchFile();
      await using server = new Child(SERVER, [file, 'descriptors'], ['prlimit', '--nofile=200', '--']);
      const short = report.parse(JSON.parse(await server.line()));
      expect(short).toEqual({ results: ['looked', 'stored'], threads: 2, warnings: 0 });
      const afterwards = report.parse(JSON.parse(await server.line()));
      expect(afterwards).toEqual({ results: ['stored'], threads: 3, warnings: 0 });
      await server.finish();
      expect(seenByAnotherProcess(file)).toEqual(['first', 'evt_1', 'evt_2']);
    },
  );
});
