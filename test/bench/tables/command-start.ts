import { spawnSync } from 'node:child_process';
import { ownCheckout } from '../against.ts';
import { atMost } from '../goals.ts';
import { table } from '../markdown.ts';
import { cells, undisturbed } from '../marks.ts';
import { median } from '../median.ts';
import type { Table } from '../table.ts';

/** How long a Node process takes from start to end, in milliseconds. */
interface StartTime {
  readonly title: string;
  readonly ms: number;
}

/** What is compared: the command itself, and the parser it is built on. */
const CONTENDERS: readonly (readonly [title: string, args: readonly string[]])[] = [
  ['node alone', ['-e', '']],
  ['node importing commander', ['--input-type=module', '-e', "import 'commander'"]],
  ['hookbox --version', ['dist/src/cli/hookbox.js', '--version']],
  ['hookbox --help', ['dist/src/cli/hookbox.js', '--help']],
];

export const commandStart: Table = {
  name: 'start',
  async measure(bench) {
    const { value: times, disturbed } = await bench.disturbance.alone(() => measure(bench.options.quickRounds));
    const own = times.find(({ title }) => title === 'hookbox --version');
    const parser = times.find(({ title }) => title === 'node importing commander');
    const lines = times.map(({ title, ms }) => [title, ...cells(bench, { disturbed, fault: null }, [ms.toFixed(1)])]);
    return {
      text: `### Starting the command\n\nFrom start to end of the process, medians.\n\n${table(['Process', 'ms'], lines)}`,
      goals: [
        atMost(
          'hookbox --version: time, of Node importing its parser',
          { wanted: 1.5 },
          undisturbed(bench, disturbed, own && parser && own.ms / parser.ms),
        ),
      ],
      disturbed,
      data: times,
    };
  },
};

/** Each in turn, so that a slow moment of the machine is shared. */
async function measure(rounds: number): Promise<readonly StartTime[]> {
  const times = CONTENDERS.map((): number[] => []);
  for (let round = -1; round < rounds; round += 1) {
    for (const [at, [title, args]] of CONTENDERS.entries()) {
      const startedAt = performance.now();
      const { status } = spawnSync(process.execPath, args, { cwd: ownCheckout, stdio: 'ignore' });
      if (status !== 0) throw new Error(`${title} ended with ${String(status)}.`);
      if (round >= 0) times[at]?.push(performance.now() - startedAt); // the first round fills the caches
    }
  }
  return CONTENDERS.map(([title], at) => ({ title, ms: median(times[at] ?? []) }));
}
