import { delay } from '../../host/real-timers.ts';
import { InboxUnavailableError, isInstance } from '../../errors.ts';
import { plural } from '../../ops/words/format.ts';
import { stateText } from '../../ops/words/event-words.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { print, printNdjson, styled, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { eventFilterOf } from './filter-from-options.ts';
import { Follower, type Change } from './follower.ts';
import type { FilterOptions, InboxOptions } from './event-options.ts';
import { errorText, idText, timeText, orDash, stateStyle } from './event-texts.ts';

/** What the arguments of `events tail` say. */
export interface TailOptions extends InboxOptions, FilterOptions {
  readonly lines: number;
  readonly follow?: boolean;
}

const POLL_MS = 500;

/** Prints the last events, oldest first, and with `follow` newer ones and what becomes of them. */
export async function tail(options: TailOptions): Promise<ExitCode> {
  const { lines, follow = false, json = false } = options;
  const filter = eventFilterOf(options);
  const signal = interruption();
  await using inbox = await existingInbox(options);
  const printed = json ? printJsonLine : printLine;

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
    for (const change of await changesOf(follower)) printed(change);
  }
}

/** An inbox that is away for a while comes back: nothing is missed by looking again. */
async function changesOf(follower: Follower): Promise<readonly Change[]> {
  try {
    return await follower.changes();
  } catch (failure) {
    if (!isInstance(failure, InboxUnavailableError)) throw failure;
    tell(`note: ${failure.message}. Trying again.`);
    return [];
  }
}

function printJsonLine({ what, at, event }: Change): void {
  printNdjson({ what, at, ...event });
}

function printLine({ at, event }: Change): void {
  const { attempts, redeliveries, conflicts, lastError, type } = event;
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
