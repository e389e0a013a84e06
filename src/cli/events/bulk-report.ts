import type { Act, ActCounts, ActResult, Bulk } from '../../ops/index.ts';
import { number, plural } from '../../ops/words/format.ts';
import { sentenceOf } from '../../ops/words/act-words.ts';
import { resultInWords } from '../../ops/words/event-words.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { print, tell } from '../shared/output.ts';
import type { WideOptions } from '../shared/wide-option.ts';
import { eventTable } from './event-table.ts';
import type { FoundForAct } from './found-for-act.ts';

/** Prints what a dry run has found. */
export function printFound(found: FoundForAct, options: WideOptions): void {
  print(sentenceOf({ ...found, state: 'previewed' }), '', 'The newest events:', '');
  eventTable(options)(found.first);
}

/** What to type after a bulk action: to go on with it, and to see what became of its events. */
interface NextCommands {
  readonly goOn: string;
  readonly look: string;
}

/**
 * Tells how a bulk action went, and says how to exit.
 *
 * @param before - as it was when this run began
 */
export function concludeBulk(bulk: Bulk, before: Bulk, { goOn, look }: NextCommands, signal: AbortSignal): ExitCode {
  const { id, act, state, total, worked, counts } = bulk;
  const { done = 0 } = counts;
  if (state === 'running') tell(stoppedText(bulk, goOn));
  if (state === 'cancelled') tell(`Bulk action ${id} was cancelled after ${number(worked)} of ${number(total)}.`);
  const now = countsSince(before.counts, counts);
  if (worked > before.worked) tell(countsText(act, now));
  if (before.worked > 0) tell(`Total: ${countsText(act, counts)}`);
  if (act !== 'discard') tellPending(now.done ?? 0);
  if (act !== 'discard' && done > 0) tell(`To see the result later: ${look}`);
  if (signal.aborted && state !== 'done') return EXIT.interrupted;
  if (done === 0) return EXIT.failed;
  return done === total ? EXIT.ok : EXIT.partial;
}

/** What is said of one that has not come to its end, whatever has stopped it. */
export function stoppedText({ worked, total }: Bulk, goOn: string): string {
  return `Stopped after ${number(worked)} of ${number(total)}. To continue: ${goOn}`;
}

function countsSince(before: ActCounts, counts: ActCounts): ActCounts {
  const since = Object.entries(counts).map(
    ([result, count]) => [result, count - (before[result as ActResult] ?? 0)] as const,
  );
  return Object.fromEntries(since.filter(([, count]) => count !== 0));
}

function countsText(act: Act, counts: ActCounts): string {
  return Object.entries(counts)
    .map(([result, count]) => `${number(count)} ${resultInWords(act, result as ActResult)}`)
    .join('; ');
}

/** This command runs no handlers. */
export function tellPending(count: number): void {
  if (count === 0) return;
  const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them'];
  tell(`${plural(count, 'event')} ${are} pending; a processor with handlers will handle ${them}.`);
}
