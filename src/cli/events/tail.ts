import { InboxUnavailableError } from '../../errors.ts';
import { delay } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { listEvents, type EventFilter, type EventSummary } from '../../ops/index.ts';
import { newestSeq } from '../../ops/stored-events.ts';
import { attemptsRun, stateText } from '../../ops/words/event-words.ts';
import { plural } from '../../ops/words/format.ts';
import { existingInbox } from '../shared/inbox.ts';
import { interruption, progressBar, type Progress } from '../shared/interruption.ts';
import { EXIT, type ExitCode, print, printNdjson, styled, tell } from '../shared/output.ts';
import { type FilterOptions, type InboxOptions, eventFilterOf } from './options.ts';
import { errorText, idText, timeText, orDash, stateStyle } from './event-table.ts';
import { MOST_A_PAGE, pagesOf } from './search.ts';

interface TailOptions extends InboxOptions, FilterOptions {
  readonly lines: number;
  readonly follow?: boolean;
}

const POLL_MS = 500;

export async function tail(options: TailOptions): Promise<ExitCode> {
  const { lines, follow = false, json = false } = options;
  const filter = eventFilterOf(options);
  const signal = interruption();
  await using inbox = await existingInbox(options);
  const printed = ({ what, at, event }: Change): void =>
    json ? printNdjson({ what, at, ...event }) : printLine(at, event);

  const follower = new Follower(inbox, filter, signal);
  const progress = progressBar();
  const last = await follower.last(lines, progress);
  progress.end();
  for (const event of last) printed({ what: 'stored', at: event.receivedAt, event });

  if (follow) await printChanges(follower, printed, signal);
  return signal.aborted ? EXIT.interrupted : EXIT.ok;
}

async function printChanges(follower: Follower, printed: (change: Change) => void, signal: AbortSignal): Promise<void> {
  for (;;) {
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const changes = await follower.changes().catch((failure: unknown) => {
      if (!(failure instanceof InboxUnavailableError)) throw failure;
      // The next check finds the same changes.
      tell(`note: ${failure.message}. Trying again.`);
      return [];
    });
    changes.forEach(printed);
  }
}

function printLine(at: Date, event: EventSummary): void {
  const { redeliveries, conflicts, lastError, type } = event;
  const attempts = attemptsRun(event);
  const remarks = [
    ...(attempts > 0 ? [plural(attempts, 'attempt')] : []),
    ...(redeliveries > 0 ? [`redelivered ${plural(redeliveries, 'time')}`] : []),
    ...(conflicts > 0 ? [`with a different body ${plural(conflicts, 'time')}`] : []),
    ...(lastError === null || event.state === 'processed' ? [] : [errorText(lastError)]),
  ];
  const columns = [
    styled('dim', timeText(at)),
    styled(stateStyle(event), stateText(event).padEnd(18)),
    orDash(type).padEnd(22),
    idText(event).padEnd(24),
    remarks.join(', '),
  ];
  print(columns.join('  ').trimEnd());
}

interface Change {
  readonly what: 'stored' | 'changed';
  readonly at: Date;
  readonly event: EventSummary;
}

export class Follower {
  readonly #inbox: Inbox;
  readonly #filter: EventFilter;
  readonly #signal: AbortSignal;
  /** the newest few hundred */
  #seen = new Map<number, EventSummary>();
  /** the `seq` of the newest event, matching or not */
  #newest = 0;
  /** older events are not watched */
  #oldest = 0;

  constructor(inbox: Inbox, filter: EventFilter, signal: AbortSignal) {
    this.#inbox = inbox;
    this.#filter = filter;
    this.#signal = signal;
  }

  async last(count: number, progress: Progress): Promise<readonly EventSummary[]> {
    this.#newest = await newestSeq(this.#inbox);
    let found = 0;
    for await (const page of pagesOf(this.#inbox, this.#filter, { signal: this.#signal, progress })) {
      for (const event of page.events) this.#seen.set(event.seq, event);
      this.#oldest = page.next ?? 0;
      found += page.events.length;
      if (found >= count) break;
    }
    return [...this.#seen.values()].slice(0, count).toReversed();
  }

  /** Oldest first. */
  async changes(): Promise<readonly Change[]> {
    const now = new Date();
    const newestBefore = this.#newest;
    const newest = await newestSeq(this.#inbox);
    const fitting = new Map<number, EventSummary>();
    let coveredFrom = 0;
    for await (const page of pagesOf(this.#inbox, this.#filter, { signal: this.#signal })) {
      for (const event of page.events) if (event.seq >= this.#oldest) fitting.set(event.seq, event);
      coveredFrom = page.next ?? 0;
      if (coveredFrom <= newestBefore) break;
    }
    const current = [...fitting.values()];
    for (const { seq, id, endpoint } of this.#seen.values()) {
      if (seq < coveredFrom || fitting.has(seq)) continue;
      current.push(...(await listEvents(this.#inbox, { id, endpoint }, { limit: 1 })).events);
    }
    current.sort((a, b) => a.seq - b.seq);

    const changes: Change[] = [];
    for (const event of current) {
      const before = this.#seen.get(event.seq);
      if (before !== undefined && markOf(before) === markOf(event)) continue;
      // An earlier page may already have shown it.
      if (before === undefined && event.seq > newestBefore)
        changes.push({ what: 'stored', at: event.receivedAt, event });
      else changes.push({ what: 'changed', at: event.settledAt ?? now, event });
    }
    this.#newest = newest;
    for (const event of current) {
      // An event that no longer matches is watched until it is settled.
      if (fitting.has(event.seq) || event.settledAt === null) this.#seen.set(event.seq, event);
      else this.#seen.delete(event.seq);
    }
    const watched = [...this.#seen.values()].toSorted((a, b) => b.seq - a.seq).slice(0, MOST_A_PAGE);
    if (watched.length < this.#seen.size) this.#oldest = watched.at(-1)?.seq ?? 0;
    this.#seen = new Map(watched.map((event) => [event.seq, event]));
    return changes;
  }
}

function markOf({ state, deadReason, attempts, redeliveries, conflicts, pruned }: EventSummary): string {
  return [state, deadReason, attempts, redeliveries, conflicts, pruned].join();
}
