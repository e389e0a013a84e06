import { readdirSync, readFileSync } from 'node:fs';

/** Shares of one core over a stretch of time. */
export interface CpuShares {
  /** of each process that was asked for */
  readonly of: readonly number[];
  /** what neither this process, its descendants nor the kernel used, and what the host gave to other guests */
  readonly others: number;
}

interface Sample {
  readonly machine: number;
  readonly own: number;
  readonly kernel: number;
  readonly of: readonly number[];
}

interface Entry {
  readonly parent: number;
  /** its own time */
  readonly seconds: number;
  /** that of its children that have ended */
  readonly ended: number;
}

// USER_HZ, which the kernel fixes at 100 for /proc on every architecture Node runs on.
const TICKS_PER_SECOND = 100;
/** The parent of all threads of the kernel: they write what we wrote, so they are no strangers. */
const KTHREADD = 2;

/** Watches processes until `finished` is done; `null` where there is no /proc, or a process is gone. */
export async function watchCpu(pids: readonly number[], finished: Promise<unknown>): Promise<CpuShares | null> {
  const startedAt = performance.now();
  const before = sample(pids);
  await finished;
  const after = sample(pids);
  if (before === null || after === null) return null;
  const elapsed = (performance.now() - startedAt) / 1000;
  const share = (of: (sample: Sample) => number): number => (of(after) - of(before)) / elapsed;
  return {
    of: pids.map((_, index) => share(({ of }) => of[index] ?? 0)),
    others: Math.max(
      0,
      share(({ machine, own, kernel }) => machine - own - kernel),
    ),
  };
}

function sample(pids: readonly number[]): Sample | null {
  try {
    const processes = allProcesses();
    const sum = (wanted: (pid: number) => boolean): number =>
      [...processes].reduce((total, [pid, { seconds, ended }]) => (wanted(pid) ? total + seconds + ended : total), 0);
    const descends = (pid: number, from: number): boolean => {
      for (let at: number | undefined = pid; at !== undefined; at = processes.get(at)?.parent) {
        if (at === from) return true;
      }
      return false;
    };
    return {
      machine: machineSeconds(),
      own: sum((pid) => descends(pid, process.pid)),
      kernel: sum((pid) => descends(pid, KTHREADD)),
      of: pids.map((pid) => {
        const entry = processes.get(pid);
        if (entry === undefined) throw new Error(`Process ${pid} is gone.`);
        return entry.seconds;
      }),
    };
  } catch {
    return null;
  }
}

function allProcesses(): Map<number, Entry> {
  const entries = new Map<number, Entry>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const entry = processEntry(name);
    if (entry !== null) entries.set(Number(name), entry);
  }
  return entries;
}

/** `null` if it has just ended. */
function processEntry(pid: string): Entry | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces, so fields are counted from behind it: state is field 3, utime 14.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = (first: number): number => (Number(fields[first]) + Number(fields[first + 1])) / TICKS_PER_SECOND;
    return { parent: Number(fields[1]), seconds: ticks(11), ended: ticks(13) };
  } catch {
    return null;
  }
}

function machineSeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  // cpu, then user nice system idle iowait irq softirq steal; a guest's time is already in user.
  const [, user, nice, system, , , irq, softirq, steal] = line.split(/ +/);
  const ticks = [user, nice, system, irq, softirq, steal].reduce((sum, value) => sum + Number(value ?? 0), 0);
  return ticks / TICKS_PER_SECOND;
}
