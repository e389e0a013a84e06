import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// From linux/magic.h: file systems that live in memory, where a commit costs nothing and proves nothing.
const TMPFS = 0x01021994;
const RAMFS = 0x858458f6;

/** A folder on a real disk for the run's files; it is removed when the process ends, also on Ctrl-C. */
export function scratchFolder(): string {
  const place = isInMemory(tmpdir()) ? fileURLToPath(new URL('.', import.meta.url)) : tmpdir();
  if (isInMemory(place)) process.stderr.write(`${place} is in memory too: durable rows pay for no disk here.\n`);
  const folder = mkdtempSync(join(place, '.hookbox-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  return folder;
}

function isInMemory(folder: string): boolean {
  const { type } = statfsSync(folder);
  return process.platform === 'linux' && (type === TMPFS || type === RAMFS);
}
