import { join } from 'node:path';
import { sqliteInbox } from 'hookbox/sqlite';
import type { Bench } from '../bench.ts';
import { atMost } from '../goals.ts';
import { table, whole } from '../markdown.ts';
import { cells, undisturbed } from '../marks.ts';
import { median } from '../median.ts';
import { questions } from '../operators/questions.ts';
import { runProcess } from '../run-process.ts';
import type { Table } from '../table.ts';

/** How long one question takes with few and with many events in the file, as medians in milliseconds. */
interface QuestionTime {
  readonly title: string;
  readonly smallMs: number;
  readonly largeMs: number;
}

const SMALL = 10_000;
const LARGE = 1_000_000;

export const operators: Table = {
  name: 'operators',
  async measure(bench) {
    const [small, large] = [await shopFile(bench, SMALL), await shopFile(bench, LARGE)];
    const { value: times, disturbed } = await bench.disturbance.alone(() =>
      measure(small, large, bench.options.quickRounds),
    );
    const lines = times.map(({ title, smallMs, largeMs }) => [
      title,
      ...cells(bench, { disturbed, fault: null }, [
        smallMs.toFixed(2),
        largeMs.toFixed(2),
        (largeMs / smallMs).toFixed(2),
      ]),
    ]);
    const worst = Math.max(...times.map(({ smallMs, largeMs }) => largeMs / smallMs));
    return {
      text: [
        '### What operators ask',
        `Medians in milliseconds with ${whole(SMALL)} and with ${whole(LARGE)} stored events, asked in turns, in one ` +
          'process. One event in a hundred is dead. A page of a list looks at 5,000 events at most and says where to go on.',
        table(['Question', `${whole(SMALL)} events`, `${whole(LARGE)} events`, 'Ratio'], lines),
      ].join('\n\n'),
      goals: [
        atMost(
          'operators: the time of each question with 1,000,000 events, of that with 10,000',
          { wanted: 3 },
          undisturbed(bench, disturbed, worst),
        ),
      ],
      disturbed,
      data: times,
    };
  },
};

async function shopFile(bench: Bench, count: number): Promise<string> {
  bench.progress(`making a shop's file of ${count} events`);
  const file = join(bench.folder, `shop-${count}.db`);
  await runProcess(new URL('../filled-file/shop-file.ts', import.meta.url), [file, String(count)]);
  return file;
}

/** Each question to both files in turns, so that a slower moment of the machine falls on both. */
async function measure(smallFile: string, largeFile: string, rounds: number): Promise<readonly QuestionTime[]> {
  await using small = sqliteInbox(smallFile);
  await using large = sqliteInbox(largeFile);
  const ofLarge = await questions(large);
  const times: QuestionTime[] = [];
  for (const [index, question] of (await questions(small)).entries()) {
    const other = ofLarge[index];
    if (other === undefined) throw new Error('Both files are asked the same.');
    const smallMs: number[] = [];
    const largeMs: number[] = [];
    for (let round = -2; round < rounds; round += 1) {
      const [first, second] = [await timeOf(question.ask), await timeOf(other.ask)];
      if (round < 0) continue; // compiled, and what is always needed is in memory
      smallMs.push(first);
      largeMs.push(second);
    }
    times.push({ title: question.title, smallMs: median(smallMs), largeMs: median(largeMs) });
  }
  return times;
}

async function timeOf(ask: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await ask();
  return performance.now() - startedAt;
}
