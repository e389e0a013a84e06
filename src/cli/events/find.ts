import { turn as nextTurn } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { findEvents, type EventSummary, type FindPlace, type FoundEvents } from '../../ops/index.ts';
import { suggestionsFor, ALSO_BEGINS, TAKEN_FOR } from '../../ops/find-by-text.ts';
import { number, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { printNdjson, tell } from '../shared/output.ts';
import { progressBar, type Progress } from '../shared/progress-bar.ts';
import type { WideOptions } from '../shared/wide-option.ts';
import type { InboxOptions } from './event-options.ts';
import { MOST_A_PAGE } from './event-pages.ts';
import { eventTable } from './event-table.ts';

/** What the arguments of `events find` say. */
export interface FindOptions extends InboxOptions, WideOptions {
  readonly limit: number;
  readonly all?: boolean;
}

/** Prints the events that a text finds, those that have failed first, and resolves with how to exit. */
export async function find(text: string, options: FindOptions): Promise<ExitCode> {
  const { json = false, limit, all = false } = options;
  const signal = interruption();
  await using inbox = await existingInbox(options);
  const print = json ? printEach : eventTable(options);
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
  return EXIT.notFound;
}

/** Steps until there are as many events as wanted or no more. */
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
    progress.show(null, `${plural(examined, 'event')} searched, ${number(found)} found`);
    yield step;
    await nextTurn(); // or Ctrl-C would never be heard
  } while (at !== null && found < most && !signal.aborted);
}

function namesOf(names: FoundEvents['others']): string {
  return names.map(({ name }) => oneLine(name)).join(', ');
}

function printEach(events: readonly EventSummary[]): void {
  for (const event of events) printNdjson(event);
}
