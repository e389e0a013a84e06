import {
  auditLines,
  bulkEvents,
  bulkOutcome,
  getBulk,
  listBulks,
  type AuditLine,
  type Bulk,
  type BulkEvent,
} from '../../ops/index.ts';
import { noneInWords } from '../../ops/audit.ts';
import { sentenceOf, stateInWords, outcomeInWords } from '../../ops/words/act-words.ts';
import { resultInWords, stateText } from '../../ops/words/event-words.ts';
import { number } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { existingInbox } from '../shared/inbox.ts';
import { commandText, optionalTime, present } from '../shared/options.ts';
import { EXIT, print, printJson, styled, tell, usageError, type ExitCode } from '../shared/output.ts';
import { printList, texts, times, type Columns } from '../shared/table.ts';
import { noBulk, resultsOf, resumeText } from './act.ts';
import { idText, orDash, timeText } from './event-table.ts';
import type { NewestOptions } from './options.ts';

interface AuditOptions extends NewestOptions {
  readonly actor?: string;
  readonly since?: string;
  readonly until?: string;
}

export async function audit(options: AuditOptions): Promise<ExitCode> {
  const { limit, before, actor } = options;
  if (actor?.trim() === '') throw usageError('--actor must not be empty.');
  const filter = present({
    actor,
    since: optionalTime('since', options.since),
    until: optionalTime('until', options.until),
  });
  await using inbox = await existingInbox(options);
  const { lines, next } = await auditLines(inbox, { ...filter, limit, ...present({ before }) });
  printList(lines, AUDIT_COLUMNS, options);
  if (lines.length === 0)
    tell(noneInWords({ isFiltered: Object.keys(filter).length > 0, isFurther: before !== undefined, next }));
  if (next !== null) tell(`Older entries exist. For the next page, add --before ${next}`);
  return EXIT.ok;
}

const AUDIT_COLUMNS: Columns<AuditLine> = [
  [times('at'), ({ at }) => timeText(at)],
  [texts('by'), ({ actor }) => oneLine(actor)],
  ['through', ({ via }) => via],
  [texts('action'), ({ act }) => oneLine(act)],
  [texts('counts'), ({ counts }) => oneLine(countedText(counts))],
  [texts('reason'), ({ reason }) => orDash(reason)],
  ['what', ({ filter }) => oneLine(JSON.stringify(filter))],
];

function countedText(counts: AuditLine['counts']): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${number(count)}`)
    .join(', ');
}

interface BulksOptions extends NewestOptions {
  readonly skipped?: boolean;
}

export async function bulks(id: number | undefined, options: BulksOptions): Promise<ExitCode> {
  const { limit, before, json = false, skipped = false } = options;
  if (skipped && id === undefined) throw usageError('--skipped needs the id of a bulk action.');
  if (id !== undefined) return skipped ? listSkipped(id, options) : showBulk(id, options);
  await using inbox = await existingInbox(options);
  const page = await listBulks(inbox, { limit, ...present({ before }) });
  printList(page, BULK_COLUMNS, options);
  if (page.length === 0) tell('No bulk actions yet.');
  if (!json) for (const bulk of page) tellStopped(bulk, options);
  const last = page.at(-1);
  if (last !== undefined && page.length === limit)
    tell(`Older bulk actions may exist. For the next page, add --before ${last.id}`);
  return EXIT.ok;
}

const BULK_COLUMNS: Columns<Bulk> = [
  ['id', ({ id }) => String(id)],
  [times('created'), ({ createdAt }) => timeText(createdAt)],
  ['action', ({ act }) => act],
  [
    'state',
    ({ state, stopped }) =>
      state === 'running' || state === 'paused'
        ? { text: stopped === null ? state : 'stopped', style: 'yellow' }
        : state,
  ],
  ['done', ({ worked }) => number(worked)],
  ['of', ({ total }) => number(total)],
  [texts('by'), ({ actor }) => oneLine(actor)],
  [texts('reason'), ({ reason }) => orDash(reason)],
  ['filter', ({ filter }) => oneLine(JSON.stringify(filter))],
];

async function listSkipped(id: number, options: BulksOptions): Promise<ExitCode> {
  const { limit, before } = options;
  await using inbox = await existingInbox(options);
  const bulk = await getBulk(inbox, id);
  if (bulk === null) {
    tell(noBulk(id, options));
    return EXIT.notFound;
  }
  const { events, next } = await bulkEvents(inbox, id, { skipped: true, limit, ...present({ before }) });
  const columns: Columns<BulkEvent> = [
    [texts('id'), ({ event }) => idText(event)],
    [texts('type'), ({ event }) => orDash(event.type)],
    [texts('state now'), ({ event }) => stateText(event)],
    ['why', ({ result }) => (result === null ? '-' : resultInWords(bulk.act, result))],
  ];
  printList(events, columns, options);
  if (events.length === 0) tell(`Bulk action ${id} has skipped no event that is still known.`);
  if (next !== null) tell(`More events were skipped. For the next page, add --before ${next}`);
  return EXIT.ok;
}

function tellStopped(bulk: Bulk, options: NewestOptions): void {
  const { id, act, stopped } = bulk;
  const is = bulk.state === 'paused' ? 'is ' : '';
  if (stopped !== null || is !== '')
    tell(`Bulk action ${id} ${is}${stateInWords(bulk)}. To continue: ${resumeText(act, id, options)}`);
}

async function showBulk(id: number, options: NewestOptions): Promise<ExitCode> {
  await using inbox = await existingInbox(options);
  const bulk = await getBulk(inbox, id);
  const outcome = bulk === null ? null : await bulkOutcome(inbox, id);
  if (bulk === null || outcome === null) {
    tell(noBulk(id, options));
    return EXIT.notFound;
  }
  if (options.json === true) {
    printJson({ ...bulk, outcome });
    return EXIT.ok;
  }
  const isBad = outcome.counts.dead > 0 && bulk.act !== 'discard';
  print(...factsOf(bulk));
  if (bulk.startedAt !== null) print('', styled(isBad ? 'red' : 'green', outcomeInWords(bulk.act, outcome)));
  tellStopped(bulk, options);
  if (isBad) tell(`To list the dead events: ${commandText(options, 'hookbox events list --bulk', id, '--state dead')}`);
  return EXIT.ok;
}

function factsOf(bulk: Bulk): readonly string[] {
  const { act, id, actor, reason, createdAt, endedAt, counts } = bulk;
  return [
    `${styled('bold', `${act} ${id}`)}  ${stateInWords(bulk)}`,
    `  ${sentenceOf(bulk)}`,
    `  by ${oneLine(actor)}, ${timeText(createdAt)}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    ...(endedAt === null ? [] : [`  ended ${timeText(endedAt)}`]),
    ...resultsOf(counts)
      .filter(([result, count]) => result !== 'done' && count > 0)
      .map(([result, count]) => `  ${number(count)} ${resultInWords(act, result)}`),
  ];
}
