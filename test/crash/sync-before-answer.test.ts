import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { scratchFolder } from '../inbox/scratch-folder.ts';

const ACKNOWLEDGING = fileURLToPath(new URL('acknowledging-process.ts', import.meta.url));

/** kill -9 leaves the kernel's cache alone, so only the calls themselves show that a power cut would take nothing. */
const traceable = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;

it.skipIf(!traceable)(
  'what is answered 200 was written to the log and synced to the disk before (strace)',
  () => {
    const folder = scratchFolder();
    const trace = join(folder, 'trace');
    const calls = 'trace=write,writev,pwrite64,pwritev,fsync,fdatasync';
    const { status } = spawnSync(
      'strace',
      ['-f', '-y', '-s', '64', '-e', calls, '-o', trace, process.execPath, ACKNOWLEDGING, join(folder, 'shop.db')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    expect(status).toBe(0);

    // What happened to the log since the last answer: w for written, s for synced; an answer ends it.
    const answers: { answer: string; log: string }[] = [];
    let log = '';
    for (const call of readFileSync(trace, 'utf8').split('\n')) {
      const answer = /write\(1<.*"(answered \d+ evt_\d+)\\n"/.exec(call)?.[1];
      if (answer !== undefined) {
        answers.push({ answer, log: log.replaceAll(/w+/g, 'w') });
        log = '';
      } else if (/pwrite64\(\d+<[^>]*-wal>/.test(call)) log += 'w';
      else if (/f(data)?sync\(\d+<[^>]*-wal>\)\s+= 0/.test(call)) log += 's';
    }
    expect(answers.map(({ answer }) => answer)).toEqual(Array.from({ length: 10 }, (_, n) => `answered 200 evt_${n}`));
    // The first answer comes after what opening the file has written.
    expect(answers[0]?.log).toMatch(/ws$/);
    expect(answers.slice(1).map(({ log }) => log)).toEqual(Array.from({ length: 9 }, () => 'ws'));
  },
  60_000,
);
