import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os';
import { othersLimit, paceLimit, type Disturbance } from './disturbance/disturbance.ts';
import type { FdatasyncTime } from './fdatasync.ts';
import type { Generator } from './load/generator.ts';
import { percent } from './markdown.ts';

/** Where the numbers come from: without this they mean nothing to anybody else. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** cores that nobody else used before the run */
  readonly freeCores: number;
  readonly memoryGiB: number;
  readonly os: string;
  readonly node: string;
  readonly generator: string;
  readonly date: string;
}

export function describeMachine(generator: Generator, freeCores: number): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    freeCores,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    os: `${distribution()}, ${platform()} ${release()} ${arch()}`,
    node: process.version,
    generator: `${generator.name} ${generator.version}`,
    date: new Date().toISOString().slice(0, 10),
  };
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? platform();
  } catch {
    return platform();
  }
}

/** Where and how the run was measured. */
export function machineText(machine: Machine, fdatasync: FdatasyncTime, disturbance: Disturbance): string {
  return [
    `Measured on ${machine.date}: ${machine.cpu}, ${machine.cores} cores, of which ${machine.freeCores.toFixed(1)} were ` +
      `free, ${machine.memoryGiB} GiB, ${machine.os}, Node ${machine.node}; load from ${machine.generator}, one thread in ` +
      `a process of its own on the same machine, so that server, its threads and the load share these cores.`,
    `Making 4 KiB durable on this disk (fdatasync, ${fdatasync.repeats} times): median ` +
      `${fdatasync.medianMs.toFixed(2)} ms, p99 ${fdatasync.p99Ms.toFixed(2)} ms.`,
    `A figure is called disturbed, and not shown, if everything else on the machine or its host took more than ` +
      `${percent(othersLimit)} % of a core, if a fixed piece of work took ${paceLimit} times as long as at its best, or ` +
      `if no majority of the rounds lay within 10 %. The most that others took was ${percent(disturbance.mostOthers)} %.`,
  ].join('\n\n');
}
