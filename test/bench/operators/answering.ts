import { join } from 'node:path';
import { sqliteInbox } from 'hookbox/sqlite';
import { table, whole } from '../markdown.ts';
import { median } from '../median.ts';
import { runProcess } from '../run-process.ts';
import { questions } from './questions.ts';

/** How long one question takes with few and with many events in the file, as medians in milliseconds. */
export interface QuestionTime {
  readonly title: string;
  readonly smallMs: number;
  readonly largeMs: number;
}

export interface OperatorsComparison {
  readonly small: number;
  readonly large: number;
  readonly times: readonly QuestionTime[];
}

const SMALL = 10_000;
const LARGE = 1_000_000;

/** The seventh table: each question to both files in turns, so that a slower moment of the machine falls on both. */
export async function measureOperators(
  folder: string,
  rounds: number,
  progress: (line: string) => void,
): Promise<OperatorsComparison> {
  const open = async (count: number) => {
    progress(`making a shop's file of ${count} events`);
    const file = join(folder, `shop-${count}.db`);
    await runProcess(new URL('shop-file.ts', import.meta.url), [file, String(count)]);
    return sqliteInbox(file);
  };
  const small = await open(SMALL);
  const large = await open(LARGE);
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
  await small.close();
  await large.close();
  return { small: SMALL, large: LARGE, times };
}

async function timeOf(ask: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await ask();
  return performance.now() - startedAt;
}

/** The question that grows most with the file. */
export function worstGrowth({ times }: OperatorsComparison): number {
  return Math.max(...times.map(({ smallMs, largeMs }) => largeMs / smallMs));
}

export function operatorsTable({ small, large, times }: OperatorsComparison): string {
  const lines = times.map(({ title, smallMs, largeMs }) => [
    title,
    smallMs.toFixed(2),
    largeMs.toFixed(2),
    (largeMs / smallMs).toFixed(2),
  ]);
  return (
    `### What operators ask\n\n` +
    `Medians in milliseconds with ${whole(small)} and with ${whole(large)} stored events, asked in turns, in one process. ` +
    `One event in a hundred is dead. A page of a list looks at 5,000 events at most and says where to go on.\n\n` +
    table(['Question', `${whole(small)} events`, `${whole(large)} events`, 'Ratio'], lines)
  );
}
