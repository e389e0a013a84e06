import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { table } from './markdown.ts';
import { median } from './median.ts';

/** How long a Node process takes from start to end, in milliseconds. */
export interface StartTime {
  readonly title: string;
  readonly ms: number;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What is compared: the command itself, and the parser it is built on. */
const CONTENDERS: readonly (readonly [title: string, args: readonly string[]])[] = [
  ['node alone', ['-e', '']],
  ['node importing commander', ['--input-type=module', '-e', "import 'commander'"]],
  ['hookbox --version', ['dist/src/cli/hookbox.js', '--version']],
  ['hookbox --help', ['dist/src/cli/hookbox.js', '--help']],
];

/** Each in turn, so that a slow moment of the machine is shared. */
export function measureCommandStart(rounds: number): readonly StartTime[] {
  const times = CONTENDERS.map((): number[] => []);
  for (let round = -1; round < rounds; round += 1) {
    for (const [at, [title, args]] of CONTENDERS.entries()) {
      const startedAt = performance.now();
      const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'ignore' });
      if (status !== 0) throw new Error(`${title} ended with ${String(status)}.`);
      if (round >= 0) times[at]?.push(performance.now() - startedAt); // the first round fills the caches
    }
  }
  return CONTENDERS.map(([title], at) => ({ title, ms: median(times[at] ?? []) }));
}

/** `hookbox --version` over the parser alone. */
export function startRatio(times: readonly StartTime[]): number | null {
  const of = (name: string): number | undefined => times.find(({ title }) => title === name)?.ms;
  const own = of('hookbox --version');
  const parser = of('node importing commander');
  return own === undefined || parser === undefined ? null : own / parser;
}

export function commandStartTable(times: readonly StartTime[]): string {
  const lines = times.map(({ title, ms }) => [title, ms.toFixed(1)]);
  return `### Starting the command\n\nFrom start to end of the process, medians.\n\n${table(['Process', 'ms'], lines)}`;
}
