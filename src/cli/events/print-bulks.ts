import { listBulks, type Bulk } from '../../ops/index.ts';
import { stateInWords } from '../../ops/words/act-words.ts';
import { number } from '../../ops/words/format.ts';
import { inboxOptions } from '../../host/shell-words.ts';
import { neededInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { oneLine } from '../../printable.ts';
import { printNdjson, tell } from '../shared/output.ts';
import { growingTable, lineWidth, texts, times, type Cell } from '../shared/table.ts';
import type { NewestOptions } from './event-options.ts';
import { timeText, orDash } from './event-texts.ts';

/** Prints the actions on many events, the newest first. */
export async function bulks(options: NewestOptions): Promise<ExitCode> {
  const { limit, before, json = false } = options;
  await using inbox = await existingInbox(options);
  const page = await listBulks(inbox, { limit, ...(before !== undefined && { before }) });
  if (json) for (const bulk of page) printNdjson(bulk);
  else if (page.length > 0) growingTable(HEAD, lineWidth(options))(page.map(rowOf));
  if (page.length === 0) tell('No bulk actions yet.');
  for (const bulk of json ? [] : page) if (bulk.stopped !== null) tell(runTheRest(bulk, options));
  const last = page.at(-1);
  if (last !== undefined && page.length === limit)
    tell(`Older bulk actions may exist. For the next page, add --before ${last.id}`);
  return EXIT.ok;
}

/** What one that nobody runs any more has come to, and what to type then. */
export function runTheRest(bulk: Bulk, options: NewestOptions): string {
  const { act, id } = bulk;
  const goOn = ['hookbox events', act, '--resume', id, ...inboxOptions(neededInbox(options))].join(' ');
  return `Bulk action ${id} ${stateInWords(bulk)}. To continue: ${goOn}`;
}

const HEAD = ['id', times('created'), 'action', 'state', 'done', 'of', texts('by'), texts('reason'), 'filter'];

function rowOf({ id, createdAt, act, state, stopped, worked, total, actor, reason, filter }: Bulk): readonly Cell[] {
  return [
    String(id),
    timeText(createdAt),
    act,
    state === 'running' ? { text: stopped === null ? state : 'stopped', style: 'yellow' } : state,
    number(worked),
    number(total),
    oneLine(actor),
    orDash(reason),
    oneLine(JSON.stringify(filter)),
  ];
}
