import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureFdatasyncApart, type FdatasyncTime } from '../fdatasync.ts';

/** A disk that is slower than this machine's: what a process has to be started with, and what a sync takes then. */
export interface SyncDelay {
  readonly ms: number;
  readonly env: { readonly LD_PRELOAD: string; readonly SYNC_DELAY_MS: string };
  readonly fdatasync: FdatasyncTime;
}

const COMPILERS = ['cc', 'gcc', 'clang', 'tcc'];

/** Compiles sync-delay.c and proves that it delays, or tells why there is none here. */
export async function makeSyncDelay(ms: number, folder: string): Promise<SyncDelay | string> {
  if (process.platform !== 'linux') return 'only Linux preloads libraries like this';
  const library = join(folder, 'sync-delay.so');
  const source = fileURLToPath(new URL('sync-delay.c', import.meta.url));
  const args = ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'];
  if (!COMPILERS.some((compiler) => spawnSync(compiler, args, { stdio: 'ignore' }).status === 0)) {
    return 'there is no C compiler here that compiles the delay';
  }
  const env = { LD_PRELOAD: library, SYNC_DELAY_MS: String(ms) };
  const fdatasync = await measureFdatasyncApart(folder, env);
  return fdatasync.medianMs < ms ? 'the delay does not work here' : { ms, env, fdatasync };
}
