import { spawnSync } from 'node:child_process';
import { ownCheckout } from '../against.ts';
import { atMost, NOT_SLOWER } from '../goals.ts';
import { table } from '../markdown.ts';
import { cells, undisturbed } from '../marks.ts';
import { median } from '../median.ts';
import type { Table } from '../table.ts';

/** How long a Node process takes from start to end, in milliseconds. */
interface StartTime {
  readonly title: string;
  readonly ms: number;
}

interface Contender {
  readonly title: string;
  readonly args: readonly string[];
  /** the folder it starts in */
  readonly cwd: string;
}

const STARTS = ['--version', '--help'];
const ours = (start: string): string => `hookbox ${start}`;
const before = (start: string): string => `hookbox ${start}, the commit before`;

/** What is compared: the command itself, the parser it is built on, and the command of another checkout. */
function contendersOf(against: string | undefined): readonly Contender[] {
  const cwd = ownCheckout;
  const commands = (cwd: string, title: (start: string) => string): readonly Contender[] =>
    STARTS.map((start) => ({ title: title(start), args: ['dist/src/cli/hookbox.js', start], cwd }));
  return [
    { title: 'node alone', args: ['-e', ''], cwd },
    { title: 'node importing commander', args: ['--input-type=module', '-e', "import 'commander'"], cwd },
    ...commands(cwd, ours),
    ...(against === undefined ? [] : commands(against, before)),
  ];
}

export const commandStart: Table = {
  name: 'start',
  async measure(bench) {
    const { quickRounds, against } = bench.options;
    const { value: times, disturbed } = await bench.disturbance.alone(() =>
      measure(contendersOf(against), quickRounds),
    );
    const timeOf = (title: string) => times.find((time) => time.title === title)?.ms;
    const ratio = (of: string, to: string) => {
      const [ms, than] = [timeOf(of), timeOf(to)];
      return undisturbed(bench, disturbed, ms !== undefined && than !== undefined ? ms / than : undefined);
    };
    const lines = times.map(({ title, ms }) => [title, ...cells(bench, { disturbed, fault: null }, [ms.toFixed(1)])]);
    return {
      text: `### Starting the command\n\nFrom start to end of the process, medians.\n\n${table(['Process', 'ms'], lines)}`,
      goals: [
        atMost(
          'hookbox --version: time, of Node importing its parser',
          { wanted: 1.5 },
          ratio(ours('--version'), 'node importing commander'),
        ),
        ...(against === undefined ? [] : STARTS).map((start) =>
          atMost(`${ours(start)}: time, of the commit before`, NOT_SLOWER, ratio(ours(start), before(start))),
        ),
      ],
      disturbed,
      data: times,
    };
  },
};

/** Each in turn, so that a slow moment of the machine is shared. */
async function measure(contenders: readonly Contender[], rounds: number): Promise<readonly StartTime[]> {
  const times = contenders.map((): number[] => []);
  for (let round = -1; round < rounds; round += 1) {
    for (const [at, { title, args, cwd }] of contenders.entries()) {
      const startedAt = performance.now();
      const { status } = spawnSync(process.execPath, args, { cwd, stdio: 'ignore' });
      if (status !== 0) throw new Error(`${title} ended with ${String(status)}.`);
      if (round >= 0) times[at]?.push(performance.now() - startedAt); // the first round fills the caches
    }
  }
  return contenders.map(({ title }, at) => ({ title, ms: median(times[at] ?? []) }));
}
