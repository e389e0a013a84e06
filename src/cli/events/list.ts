import type { Inbox } from '../../inbox/contract.ts';
import {
  deadGroups,
  retryGroups,
  type DeadGroup,
  type EventSummary,
  type RetryGroup,
  type SearchOrder,
} from '../../ops/index.ts';
import { bounded } from '../../ops/words/format.ts';
import { shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { oneLine } from '../../printable.ts';
import { printNdjson, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { lineWidth, table, texts, times, type Cell } from '../shared/table.ts';
import { tellUnknownTypes } from '../shared/unknown-types.ts';
import type { WideOptions } from '../shared/wide-option.ts';
import { eventTable, waitsOf } from './event-table.ts';
import { eventFilterOf, isEverything } from './filter-from-options.ts';
import type { FilterOptions, InboxOptions } from './event-options.ts';
import { pagesOf } from './event-pages.ts';
import { errorText, idText, orDash, timeText } from './event-texts.ts';

/** What the arguments of `events list` say. */
export interface ListOptions extends InboxOptions, FilterOptions, WideOptions {
  readonly limit: number;
  readonly all?: boolean;
  readonly before?: number;
  readonly order?: SearchOrder;
  readonly groups?: boolean;
}

/** Prints the events that fit, newest first, and resolves with how to exit. */
export async function list(options: ListOptions): Promise<ExitCode> {
  const { json = false, limit, all = false, before, order = 'newest', groups = false } = options;
  const filter = eventFilterOf(options);
  const { retrying = false, ...beyondRetrying } = filter;
  if (groups && (!isEverything(beyondRetrying) || before !== undefined)) {
    throw usageError(
      '--groups takes no filter except --retrying, because it groups all dead events, or all events ' +
        'waiting for a retry. Remove the filter, or list the events of one group with --fingerprint.',
    );
  }
  if (order === 'failed' && before !== undefined) {
    throw usageError('--order failed does not work with --before. Raise --limit, or use --failed-until.');
  }
  const signal = interruption();
  await using inbox = await existingInbox(options);
  if (groups) return await (retrying ? listRetryGroups(inbox, options) : listGroups(inbox, options));

  const progress = progressBar();
  const print = json ? printEach : eventTable(options);
  const most = all ? Infinity : limit;
  let found = 0;
  let next: number | null = null;
  try {
    for await (const page of pagesOf(inbox, filter, {
      most,
      signal,
      progress,
      order,
      ...(before !== undefined && { before }),
    })) {
      const waits = json ? undefined : await waitsOf(inbox, page.events);
      if (page.events.length > 0) progress.above(() => print(page.events, waits));
      found += page.events.length;
      ({ next } = page);
    }
  } finally {
    progress.end();
  }
  if (next !== null) tell(`${signal.aborted ? 'Stopped.' : `${MORE[order]} events may exist.`} ${goOn(order, next)}`);
  else if (found === 0) {
    const isEmpty = isEverything(filter) && before === undefined;
    tell(isEmpty ? `${shownInbox(options)} has no events.` : `${shownInbox(options)} has no matching event.`);
    tellUnknownTypes(options.type);
  }
  return signal.aborted ? EXIT.interrupted : EXIT.ok;
}

const MORE = { newest: 'Older', oldest: 'Newer', failed: 'More' } as const satisfies Record<SearchOrder, string>;

function goOn(order: SearchOrder, next: number): string {
  return order === 'failed' ? 'For more, raise --limit or add --all' : `For the next page, add --before ${next}`;
}

function printEach(events: readonly EventSummary[]): void {
  for (const event of events) printNdjson(event);
}

async function listGroups(inbox: Inbox, options: ListOptions): Promise<ExitCode> {
  const groups = await deadGroups(inbox);
  printGroups(groups, GROUP_HEAD, groupRow, options);
  if (groups.length === 0) tell('No dead events.');
  else tell('To rerun a group: hookbox events rerun --fingerprint <group>');
  return EXIT.ok;
}

async function listRetryGroups(inbox: Inbox, options: ListOptions): Promise<ExitCode> {
  const groups = await retryGroups(inbox);
  printGroups(groups, RETRY_GROUP_HEAD, retryRow, options);
  if (groups.length === 0) tell('No events are waiting for a retry.');
  else tell('To retry a group now: hookbox events retry-now --fingerprint <group>');
  return EXIT.ok;
}

function printGroups<Group>(
  groups: readonly Group[],
  head: Parameters<typeof table>[0],
  rowOf: (group: Group) => readonly Cell[],
  { json = false, wide = false }: ListOptions,
): void {
  if (json) for (const group of groups) printNdjson(group);
  else if (groups.length > 0) table(head, groups.map(rowOf), lineWidth({ wide }));
}

/** The name of a group is what one copies. */
const GROUP_HEAD = ['events', times('newest'), times('oldest'), 'group', 'reason', texts('example'), 'error'];
const RETRY_GROUP_HEAD = GROUP_HEAD.map((column) => (column === 'reason' ? times('next attempt') : column));

function retryRow(group: RetryGroup): readonly Cell[] {
  const { fingerprint, sample, newest, oldest, nextDueAt } = group;
  return [
    bounded(group),
    timeText(newest.receivedAt),
    timeText(oldest.receivedAt),
    oneLine(fingerprint),
    orDash(nextDueAt && timeText(nextDueAt)),
    idText(newest),
    errorText(sample),
  ];
}

function groupRow(group: DeadGroup): readonly Cell[] {
  const { fingerprint, reason, sample, newest, oldest } = group;
  return [
    bounded(group),
    timeText(newest.receivedAt),
    timeText(oldest.receivedAt),
    oneLine(fingerprint),
    reason,
    idText(newest),
    errorText(sample),
  ];
}
