import { readFile } from 'node:fs/promises';

// USER_HZ, which the kernel fixes at 100 for /proc on every architecture Node runs on.
const TICKS_PER_SECOND = 100;

/** Seconds of CPU a process has used, in user and kernel; `null` where there is no /proc. */
export async function cpuSeconds(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // The name in parentheses may hold spaces, so fields are counted from behind it: state is field 3, utime 14.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
