import { turn as nextTurn } from '../../host/real-timers.ts';
import { option } from '../../host/shell-words.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { suggestionsFor, ALSO_BEGINS, TAKEN_FOR } from '../../ops/find-by-text.ts';
import {
  deadGroups,
  findEvents,
  retryGroups,
  type DeadGroup,
  type EventSummary,
  type FindPlace,
  type FoundEvents,
  type RetryGroup,
  type SearchOrder,
} from '../../ops/index.ts';
import { bounded } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { existingInbox } from '../shared/inbox.ts';
import { interruption, progressBar, type Progress } from '../shared/interruption.ts';
import { shownInbox, tellUnknownTypes, type WideOptions } from '../shared/options.ts';
import { EXIT, printNdjson, tell, usageError, type ExitCode } from '../shared/output.ts';
import { printList, texts, times, type Columns } from '../shared/table.ts';
import { errorText, eventTable, idText, orDash, timeText, waitsOf } from './event-table.ts';
import { eventFilterOf, isEverything, type FilterOptions, type InboxOptions } from './options.ts';
import { MOST_A_PAGE, pagesOf, searchedText } from './search.ts';

interface ListOptions extends InboxOptions, FilterOptions, WideOptions {
  readonly limit: number;
  readonly all?: boolean;
  readonly before?: number;
  readonly order: SearchOrder;
  readonly groups?: boolean;
}

export async function list(options: ListOptions): Promise<ExitCode> {
  const { json = false, limit, all = false, before, order, groups = false } = options;
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
  if (groups) return await listGroups(inbox, retrying, options);

  const print = json ? printEach : eventTable(options);
  const progress = progressBar();
  const paging = { most: all ? Infinity : limit, signal, progress, order, before };
  let found = 0;
  let next: number | null = null;
  try {
    for await (const page of pagesOf(inbox, filter, paging)) {
      const waits = json ? undefined : await waitsOf(inbox, page.events);
      if (page.events.length > 0) progress.above(() => print(page.events, waits));
      found += page.events.length;
      ({ next } = page);
    }
  } finally {
    progress.end();
  }
  if (next !== null) {
    const more = { newest: 'Older', oldest: 'Newer', failed: 'More' }[order];
    const how = order === 'failed' ? 'For more, raise --limit or add --all' : `For the next page, add --before ${next}`;
    tell(`${signal.aborted ? 'Stopped.' : `${more} events may exist.`} ${how}`);
  } else if (found === 0) {
    const isEmpty = isEverything(filter) && before === undefined;
    tell(`${shownInbox(options)} has no ${isEmpty ? 'events' : 'matching event'}.`);
    tellUnknownTypes(options.type);
  }
  return signal.aborted ? EXIT.interrupted : EXIT.ok;
}

function printEach(values: readonly unknown[]): void {
  for (const value of values) printNdjson(value);
}

async function listGroups(inbox: Inbox, retrying: boolean, options: ListOptions): Promise<ExitCode> {
  const groups = await (retrying ? retryGroups(inbox) : deadGroups(inbox));
  const columns: Columns<DeadGroup | RetryGroup> = [
    ['events', bounded],
    [times('newest'), ({ newest }) => timeText(newest.receivedAt)],
    [times('oldest'), ({ oldest }) => timeText(oldest.receivedAt)],
    ['group', ({ fingerprint }) => oneLine(fingerprint)],
    [
      retrying ? times('next attempt') : 'reason',
      (group) => ('reason' in group ? group.reason : orDash(group.nextDueAt && timeText(group.nextDueAt))),
    ],
    ...(groups.some((group) => 'open' in group && !group.open) ? [ACKNOWLEDGED] : []),
    [texts('example'), ({ newest }) => idText(newest)],
    ['error', ({ sample }) => errorText(sample)],
  ];
  printList(groups, columns, options);
  if (groups.length === 0) tell(retrying ? 'No events are waiting for a retry.' : 'No dead events.');
  else if (retrying) tell('To retry a group now: hookbox events retry-now --fingerprint <group>');
  else {
    tell('To rerun a group: hookbox events rerun --fingerprint <group>');
    tell('To acknowledge a group: hookbox events acknowledge <group>');
  }
  return EXIT.ok;
}

const ACKNOWLEDGED: Columns<DeadGroup | RetryGroup>[number] = [
  texts('acknowledged by'),
  (group) => orDash('open' in group && !group.open ? (group.acknowledged?.actor ?? null) : null),
];

interface FindOptions extends InboxOptions, WideOptions {
  readonly limit: number;
  readonly all?: boolean;
}

export async function find(text: string, options: FindOptions): Promise<ExitCode> {
  const { json = false, limit, all = false } = options;
  const signal = interruption();
  await using inbox = await existingInbox(options);
  const print: (events: readonly EventSummary[]) => void = json ? printEach : eventTable(options);
  const progress = progressBar();
  let found = 0;
  let last: FoundEvents | null = null;
  try {
    for await (const step of stepsOf(inbox, text, all ? Infinity : limit, signal, progress)) {
      if (last === null && step.takenFor !== 'text') {
        progress.above(() => tell(`Searching for ${TAKEN_FOR[step.takenFor]}: ${oneLine(step.name)}`));
      }
      if (step.events.length > 0) progress.above(() => print(step.events));
      found += step.events.length;
      last = step;
    }
  } finally {
    progress.end();
  }
  if (signal.aborted) {
    tell('Stopped.');
    return EXIT.interrupted;
  }
  if (last !== null && last.next !== null) tell('More events may match. To see them, raise --limit or add --all.');
  if (last !== null && last.others.length > 0) tell(`${ALSO_BEGINS} ${namesOf(last.others)}`);
  if (found > 0) return EXIT.ok;
  const meant = await suggestionsFor(inbox, text);
  tell(`${shownInbox(options)} has no event with this text in its id, type, entity or last error.`);
  if (meant.length > 0) tell(`Did you mean ${namesOf(meant)}?`);
  tell(`To search bodies: hookbox events list ${option('--body-text', text).join(' ')}`);
  return EXIT.notFound;
}

async function* stepsOf(
  inbox: Inbox,
  text: string,
  most: number,
  signal: AbortSignal,
  progress: Progress,
): AsyncGenerator<FoundEvents> {
  let at: FindPlace | null = null;
  let examined = 0;
  let found = 0;
  do {
    const step: FoundEvents = await findEvents(inbox, text, { at, limit: Math.min(most - found, MOST_A_PAGE) });
    at = step.next;
    examined += step.examined;
    found += step.events.length;
    progress.show(null, searchedText(examined, found));
    yield step;
    await nextTurn(); // Ctrl-C is handled only in a turn of the event loop
  } while (at !== null && found < most && !signal.aborted);
}

function namesOf(names: FoundEvents['others']): string {
  return names.map(({ name }) => oneLine(name)).join(', ');
}
