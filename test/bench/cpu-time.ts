import { readFile } from 'node:fs/promises';

/** Seconds of CPU that were used by processes, and by the whole machine. */
interface CpuSeconds {
  readonly of: readonly number[];
  readonly machine: number;
}

/** Shares of one core over a stretch of time. */
export interface CpuShares {
  readonly of: readonly number[];
  /** What neither of the processes used, and what the host gave to other guests: noise in the measurement. */
  readonly others: number;
}

// USER_HZ, which the kernel fixes at 100 for /proc on every architecture Node runs on.
const TICKS_PER_SECOND = 100;

/** Watches processes until `finished` is done; `null` where there is no /proc. */
export async function watchCpu(pids: readonly number[], finished: Promise<unknown>): Promise<CpuShares | null> {
  const startedAt = performance.now();
  const before = await sample(pids);
  await finished;
  const after = await sample(pids);
  if (before === null || after === null) return null;
  const elapsed = (performance.now() - startedAt) / 1000;
  const of = after.of.map((seconds, index) => (seconds - (before.of[index] ?? 0)) / elapsed);
  const machine = (after.machine - before.machine) / elapsed;
  return {
    of,
    others: Math.max(
      0,
      of.reduce((rest, share) => rest - share, machine),
    ),
  };
}

/** `null` where there is no /proc, or a process is gone. */
async function sample(pids: readonly number[]): Promise<CpuSeconds | null> {
  try {
    return { of: await Promise.all(pids.map(processSeconds)), machine: await machineSeconds() };
  } catch {
    return null;
  }
}

async function processSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold spaces, so fields are counted from behind it: state is field 3, utime 14.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function machineSeconds(): Promise<number> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  // cpu, then user nice system idle iowait irq softirq steal; a guest's time is already in user.
  const [, user, nice, system, , , irq, softirq, steal] = line.split(/ +/);
  const ticks = [user, nice, system, irq, softirq, steal].reduce((sum, value) => sum + Number(value ?? 0), 0);
  return ticks / TICKS_PER_SECOND;
}
