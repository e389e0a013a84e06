import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os';
import type { Generator } from './load/generator.ts';

/** Where the numbers come from: without this they mean nothing to anybody else. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly os: string;
  readonly node: string;
  readonly generator: string;
  readonly date: string;
}

export function describeMachine(generator: Generator): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
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
