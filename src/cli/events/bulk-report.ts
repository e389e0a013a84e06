import type { Act, ActCounts, ActResult, Bulk } from '../../ops/index.ts';
import { number, plural } from '../../ops/words/format.ts';
import { sentenceOf } from '../../ops/words/bulk-words.ts';
import { resultInWords } from '../../ops/words/event-words.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { print, tell } from '../shared/output.ts';
import type { WideOptions } from '../shared/wide-option.ts';
import { eventTable } from './event-table.ts';
import type { FoundForAct } from './found-for-act.ts';

/** Prints what a dry run has found. */
export function printFound(found: FoundForAct, options: WideOptions): void {
  print(sentenceOf({ ...found, state: 'previewed' }), '', 'The newest of them:', '');
  eventTable(options)(found.first);
}

/** Tells how a bulk act went, and says how to exit. */
export function concludeBulk(bulk: Bulk, goOn: string, signal: AbortSignal): ExitCode {
  const { id, act, state, total, worked, counts } = bulk;
  const { done = 0 } = counts;
  if (state === 'running') tell(`Stopped after ${number(worked)} of ${number(total)}. To go on: ${goOn}`);
  if (state === 'cancelled') tell(`Bulk ${id} was cancelled after ${number(worked)} of ${number(total)}.`);
  if (worked > 0) tell(countsText(act, counts));
  if (act !== 'discard') tellPending(done);
  if (signal.aborted && state !== 'done') return EXIT.interrupted;
  if (done === 0) return EXIT.failed;
  return done === total ? EXIT.ok : EXIT.partial;
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
  tell(`${plural(count, 'event')} ${are} pending; a processor with handlers takes ${them}.`);
}
