import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ownCheckout } from '../against.ts';
import type { Bench } from '../bench.ts';
import { atMost, NOT_SLOWER } from '../goals.ts';
import { table, whole } from '../markdown.ts';
import { cells, undisturbed } from '../marks.ts';
import { median } from '../median.ts';
import { openAskedFile, type AskedFile } from '../operators/asked-file.ts';
import { runProcess } from '../run-process.ts';
import type { Table } from '../table.ts';

/** How long one question takes with few and with many events in the file, as medians in milliseconds. */
interface QuestionTime {
  readonly title: string;
  readonly smallMs: number;
  readonly largeMs: number;
  /** with many, of the commit before: what both have */
  readonly beforeMs: number | undefined;
}

const SMALL = 10_000;
const LARGE = 1_000_000;

export const operators: Table = {
  name: 'operators',
  async measure(bench) {
    const { against, quickRounds } = bench.options;
    const [small, large] = [await shopFile(bench, SMALL), await shopFile(bench, LARGE)];
    const before = against === undefined ? undefined : await shopFile(bench, LARGE, against);
    const { value: times, disturbed } = await bench.disturbance.alone(async () => {
      await using smallFile = await openAskedFile(small);
      await using largeFile = await openAskedFile(large);
      await using beforeFile = before === undefined ? undefined : await openAskedFile(before, against);
      return await measure(smallFile, largeFile, beforeFile, quickRounds);
    });
    const lines = times.map(({ title, smallMs, largeMs, beforeMs }) => [
      title,
      ...cells(bench, { disturbed, fault: null }, [
        smallMs.toFixed(2),
        largeMs.toFixed(2),
        (largeMs / smallMs).toFixed(2),
        ...(before === undefined
          ? []
          : [beforeMs?.toFixed(2) ?? '–', beforeMs ? (largeMs / beforeMs).toFixed(2) : '–']),
      ]),
    ]);
    const worst = Math.max(...times.map(({ smallMs, largeMs }) => largeMs / smallMs));
    const overview = Math.max(
      ...times.filter(({ title }) => title.startsWith('page: overview')).map(({ largeMs }) => largeMs),
    );
    const ofBefore = before === undefined ? [] : ['The commit before', 'Of that'];
    return {
      text: [
        '### What operators ask',
        `Medians in milliseconds with ${whole(SMALL)} and with ${whole(LARGE)} stored events, asked in turns, each file by ` +
          'a process of its own. One event in a hundred is dead. A page of a list looks at 5,000 events at most and says where to go on.',
        table(['Question', `${whole(SMALL)} events`, `${whole(LARGE)} events`, 'Ratio', ...ofBefore], lines),
      ].join('\n\n'),
      goals: [
        atMost(
          'operators: the time of each question with 1,000,000 events, of that with 10,000',
          { wanted: 3 },
          undisturbed(bench, disturbed, worst),
        ),
        atMost(
          'operators: the overview of 1,000,000 events',
          { wanted: 100, unit: 'ms' },
          undisturbed(bench, disturbed, overview),
        ),
        ...(before === undefined
          ? []
          : notSlower(times).map(([goal, ratio]) => atMost(goal, NOT_SLOWER, undisturbed(bench, disturbed, ratio)))),
      ],
      disturbed,
      data: times,
    };
  },
};

/** What was asked of both, in sum: by the functions, and by the page. */
function notSlower(times: readonly QuestionTime[]): readonly (readonly [goal: string, ratio: number])[] {
  const both = times.filter(({ beforeMs }) => beforeMs !== undefined);
  return [true, false].map((ofPage) => {
    const asked = both.filter(({ title }) => title.startsWith('page: ') === ofPage);
    const sum = (of: (time: QuestionTime) => number): number => asked.reduce((total, time) => total + of(time), 0);
    const what = ofPage ? 'its screens' : 'its questions';
    return [
      `operators: 1,000,000 events, ${what} in sum, of the commit before`,
      sum(({ largeMs }) => largeMs) / sum(({ beforeMs }) => beforeMs ?? 0),
    ];
  });
}

async function shopFile(bench: Bench, count: number, checkout?: string): Promise<string> {
  bench.progress(`making a shop's file of ${count} events${checkout === undefined ? '' : ', of the commit before'}`);
  const file = join(bench.folder, `shop-${count}${checkout === undefined ? '' : '-before'}.db`);
  // Written straight into the tables, as that checkout has them.
  const script = pathToFileURL(join(checkout ?? ownCheckout, 'test/bench/filled-file/shop-file.ts'));
  await runProcess(script, [file, String(count)], { checkout });
  return file;
}

/** Each question to all files in turns, so that a slower moment of the machine falls on each. */
async function measure(
  small: AskedFile,
  large: AskedFile,
  before: AskedFile | undefined,
  rounds: number,
): Promise<readonly QuestionTime[]> {
  const times: QuestionTime[] = [];
  for (const title of large.titles) {
    const asked = [small, large, before].map((file) => {
      const question = file?.titles.indexOf(title) ?? -1;
      return file === undefined || question === -1 ? undefined : { file, question, ms: [] as number[] };
    });
    for (let round = -2; round < rounds; round += 1) {
      for (const each of asked) {
        const ms = await each?.file.timeOf(each.question);
        if (round >= 0 && ms !== undefined) each?.ms.push(ms); // before: compiled, and what is always needed is in memory
      }
    }
    const [smallMs, largeMs, beforeMs] = asked.map((each) => (each === undefined ? undefined : median(each.ms)));
    if (smallMs === undefined || largeMs === undefined) throw new Error('Both files are asked the same.');
    times.push({ title, smallMs, largeMs, beforeMs });
  }
  return times;
}
