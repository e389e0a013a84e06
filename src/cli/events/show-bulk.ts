import type { ActResult, Bulk, BulkOutcome } from '../../ops/index.ts';
import { bulkOutcome, getBulk } from '../../ops/index.ts';
import { inboxOptions } from '../../host/shell-words.ts';
import { oneLine } from '../../printable.ts';
import { sentenceOf, stateInWords, outcomeInWords } from '../../ops/words/act-words.ts';
import { resultInWords } from '../../ops/words/event-words.ts';
import { number } from '../../ops/words/format.ts';
import { neededInbox, shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { print, printJson, styled, tell } from '../shared/output.ts';
import type { NewestOptions } from './event-options.ts';
import { runTheRest } from './print-bulks.ts';
import { timeText } from './event-texts.ts';

/** Tells what one action on many events was, and what became of these. */
export async function showBulk(id: number, options: NewestOptions): Promise<ExitCode> {
  await using inbox = await existingInbox(options);
  const bulk = await getBulk(inbox, id);
  const outcome = bulk === null ? null : await bulkOutcome(inbox, id);
  if (bulk === null || outcome === null) {
    tell(`${shownInbox(options)} has no bulk action ${id}. To list bulk actions, run hookbox events bulks.`);
    return EXIT.notFound;
  }
  if (options.json === true) {
    printJson({ ...bulk, outcome });
    return EXIT.ok;
  }
  print(...factsOf(bulk), ...becomeOf(bulk, outcome));
  if (bulk.stopped !== null) tell(runTheRest(bulk, options));
  if (outcome.counts.dead > 0 && bulk.act !== 'discard') {
    const look = ['hookbox events list --bulk', id, '--state dead', ...inboxOptions(neededInbox(options))].join(' ');
    tell(`To list the dead events: ${look}`);
  }
  return EXIT.ok;
}

function factsOf(bulk: Bulk): readonly string[] {
  const { act, id, actor, reason, createdAt, endedAt, counts } = bulk;
  const left = Object.entries(counts).filter(([result, count]) => result !== 'done' && count > 0);
  return [
    `${styled('bold', `${act} ${id}`)}  ${stateInWords(bulk)}`,
    `  ${sentenceOf(bulk)}`,
    `  by ${oneLine(actor)}, ${timeText(createdAt)}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    ...(endedAt === null ? [] : [`  ended ${timeText(endedAt)}`]),
    // the keys of `counts` are results
    ...left.map(([result, count]) => `  ${number(count)} ${resultInWords(act, result as ActResult)}`),
  ];
}

function becomeOf({ act, startedAt }: Bulk, outcome: BulkOutcome): readonly string[] {
  if (startedAt === null) return [];
  const isBad = outcome.counts.dead > 0 && act !== 'discard';
  return ['', styled(isBad ? 'red' : 'green', outcomeInWords(act, outcome))];
}
