import type { AnyInbox } from '../../inbox/contract.ts';
import { type DeadReason, type EventKey, deadReasons } from '../../inbox/event.ts';
import type { Act, ActResult } from '../../inbox/operator/acts.ts';
import type { Gauge } from '../../inbox/rules/counted.ts';
import { type DeadGroup, type EventSummary, filterFault, type EventFilter } from '../../inbox/operator/search.ts';
import { retryPrintOf } from '../../inbox/rules/error-groups.ts';
import type { Blocker, Wait } from '../../inbox/rules/waiting.ts';
import type { Attempt } from '../../inbox/work.ts';
import { oneLine } from '../../printable.ts';
import { operationsOf } from '../operations-of.ts';
import { pausedInWords } from '../pauses.ts';
import { ACT_WORDS } from './act-words.ts';
import { relative, age, bounded, number } from './format.ts';

/** Why events are dead, where they are listed. */
const DEAD_REASONS = {
  failed: 'its handler failed in the last attempt',
  crashed: 'the process ended three times while the handler was running',
  invalid: 'it does not fit the schema',
} as const satisfies Record<DeadReason, string>;

/** How long an attempt took. When a process ended nobody has seen: that is found once its lease has run out. */
export function afterHowLong(outcome: Attempt['outcome'], duration: string): string {
  return outcome === 'crashed' ? `, detected after ${duration}` : ` after ${duration}`;
}

/** When an event is tried next, as text for its timeline. The text marks a future attempt as still to come. */
export function dueInWords(at: Date, wasTried: boolean, now: Date): string {
  const which = wasTried ? 'next' : 'first';
  return at > now
    ? `the ${which} attempt is due ${relative(at, now)}`
    : `due, but the ${which} attempt has not started yet`;
}

/** What the events of a group died of. */
export function causeOfDeath({ sample, reason }: Pick<DeadGroup, 'sample' | 'reason'>): string {
  return sample === null ? DEAD_REASONS[reason] : `${sample.name}: ${sample.message}`;
}

/** Why the events of a group are tried again. */
export function causeOfRetry(sample: EventSummary['lastError']): string {
  return sample === null ? 'no error text' : `${sample.name}: ${sample.message}`;
}

/** The state of an event, with what an operator wants to know with it: `dead (failed)`, `pending (retrying)`. */
export function stateText({
  state,
  deadReason,
  failures,
  pruned,
}: Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'pruned'>): string {
  const remarks = [
    ...(deadReason === null ? [] : [deadReason]),
    ...(state === 'pending' && failures > 0 ? ['retrying'] : []),
    ...(pruned ? ['pruned'] : []),
  ];
  return remarks.length === 0 ? state : `${state} (${remarks.join(', ')})`;
}

/** What became of an event under an action, for each result it can have. */
export function resultInWords(act: Act, result: ActResult): string {
  switch (result) {
    case 'done':
      return ACT_WORDS[act].done;
    case 'unknown':
      return 'no longer stored';
    case 'not needed':
      return ACT_WORDS[act].notNeeded;
    case 'changed':
      return ACT_WORDS[act].changed;
    case 'still invalid':
      return 'still invalid under the current schemas';
    case 'pruned':
      return 'pruned: the handler needs the body, which was removed';
  }
}

/** A sentence in parts: an event in it is a link on the page. */
export type WaitWords = readonly (string | EventKey)[];

const MOST_OF_ERROR = 160;
const TIMES: Readonly<Record<number, string>> = { 1: 'once', 2: 'twice' };

/** Why an event waits, as a phrase after its name: `waits behind evt_1, which has failed twice`. */
export function waitInWords(event: EventSummary, wait: Wait | null, now: Date): WaitWords {
  switch (wait?.reason) {
    case undefined:
      return ['is no longer waiting'];
    case 'running':
      return [`has been running for ${since(wait.since, now)}${behindIt(wait.waiting)}`];
    case 'paused':
      return [`${history(event) ?? 'is waiting'}; ${pausedInWords(wait.pause)}`];
    case 'no processor':
      return [`${history(event) ?? 'is waiting'}; ${withoutProcessor(event, wait.lastSeen, now)}`];
    case 'behind':
      return ['is waiting behind ', wait.blocker.event, `, which ${blockerInWords(wait.blocker, now)}`];
    case 'later':
      return [
        `${history(event) ?? 'is delayed'}; ${nextAttempt(event)} ${relative(wait.dueAt, now)}${behindIt(wait.waiting)}`,
      ];
    case 'suspect':
      return [
        'is waiting for its turn: a process ended while handling it, and such events are handled one ' +
          `at a time${behindIt(wait.waiting)}`,
      ];
    case 'next': {
      const seen = `is due, and a processor that handles ${typeOf(event)} last reported ${relative(wait.lastSeen, now)}`;
      return [`${history(event) ?? 'has not been tried'}; ${seen}${behindIt(wait.waiting)}`];
    }
    case 'discarded':
      return ['was discarded by an operator'];
    case 'not handled':
      return [`was ignored; ${withoutProcessor(event, wait.lastSeen, now)}`];
  }
}

/** The same in a few words, for a row of a list: `behind evt_1`, `due in 5 min`, `type paused`; empty without a wait. */
export function waitInBrief(wait: Wait | null, now: Date): WaitWords {
  switch (wait?.reason) {
    case undefined:
      return [];
    case 'running':
      return [`running for ${since(wait.since, now)}`];
    case 'paused':
      return ['type paused'];
    case 'no processor':
      return ['no processor handles this type'];
    case 'behind':
      return ['behind ', wait.blocker.event];
    case 'later':
      return [`due ${relative(wait.dueAt, now)}`];
    case 'suspect':
      return ['waiting for its turn'];
    case 'next':
      return ['due now'];
    case 'discarded':
      return ['discarded'];
    case 'not handled':
      return ['no processor handled this type'];
  }
}

/** What an event does that others wait for, after `which`. */
export function blockerInWords({ event, runningSince, paused = false, waiting }: Blocker, now: Date): string {
  const stands = paused ? 'is waiting because its type is paused' : standing(event, runningSince, now);
  return `${stands}${behindIt(waiting)}`;
}

function standing(event: EventSummary, runningSince: Date | null, now: Date): string {
  if (runningSince !== null) {
    const before = event.failures > 0 ? `${history(event) ?? ''} and ` : '';
    return `${before}has been running for ${since(runningSince, now)}`;
  }
  const { dueAt } = event;
  if (dueAt !== null && dueAt > now)
    return `${history(event) ?? 'is delayed'}; ${nextAttempt(event)} ${relative(dueAt, now)}`;
  return history(event) ?? 'is due; no attempt has started';
}

/** What was tried; `null` for nothing. */
function history({ failures, attempts, lastError }: EventSummary): string | null {
  if (failures > 0) {
    const error = lastError === null ? '' : `: ${oneLine(`${lastError.name}: ${lastError.message}`, MOST_OF_ERROR)}`;
    return `has failed ${TIMES[failures] ?? `${number(failures)} times`}${error}`;
  }
  return attempts > 0 ? 'was interrupted or rerun' : null;
}

function nextAttempt({ attempts }: EventSummary): string {
  return attempts > 0 ? 'next attempt' : 'first attempt';
}

function withoutProcessor(event: EventSummary, lastSeen: Date | null, now: Date): string {
  const noProcessor = `no processor for ${typeOf(event)}`;
  if (lastSeen !== null) return `${noProcessor} has run in the last ${since(lastSeen, now)}`;
  // An attempt without a processor: its handler runs inline.
  const inline = event.attempts === 0 ? '' : '; in inline mode, the next delivery runs the handler';
  return `${noProcessor} has ever run${inline}`;
}

function typeOf({ type }: EventSummary): string {
  return type === null ? 'its type' : oneLine(type, 60);
}

function behindIt(waiting: Gauge): string {
  if (waiting.count === 0) return '';
  return `; ${bounded(waiting)} ${waiting.count === 1 && !waiting.more ? 'event is' : 'events are'} waiting behind it`;
}

function since(at: Date, now: Date): string {
  return age(now.getTime() - at.getTime());
}

const MOST_OF_GROUP_NAME = 80;

/**
 * A group of events whose errors say the same, as people know it: by one of these errors, shortened. Its fingerprint belongs
 * in URLs and commands.
 *
 * @param sample - what was found of the group
 */
export function groupInWords(fingerprint: string, sample: GroupSample): string {
  // Where nobody has said anything, a group is of all that died of the same.
  const reason = deadReasons.find((each) => each === fingerprint);
  const error = sample === 'unasked' ? null : sample;
  if (error === null && reason === undefined) {
    return `${oneLine(fingerprint, 16)} (${sample === null ? 'no events now' : 'not looked up'})`;
  }
  return oneLine(causeOfDeath({ sample: error, reason: reason ?? 'failed' }), MOST_OF_GROUP_NAME);
}

/** So often a screen looks for one. */
const MOST_ASKED = 50;

/** Where an error of a group may be found. */
export interface GroupPlace {
  readonly fingerprint: string;
  /** it is a group of events that are tried again */
  readonly retrying?: boolean;
  /** a bulk action on all of the group: its events are known for a week, however they stand by now */
  readonly bulk?: number;
}

/** An error of a group; `null` where none is there any more, `'unasked'` where it was not looked for, as others were. */
type GroupSample = EventSummary['lastError'] | 'unasked';
export type GroupSamples = (place: GroupPlace) => Promise<GroupSample>;

/** Finds what groups say that are known by their fingerprints: each group is looked for once, and 50 times in all. */
export function groupSamples(inbox: AnyInbox): GroupSamples {
  const known = new Map<string, Promise<GroupSample>>();
  let asked = 0;

  async function newest(filter: EventFilter): Promise<EventSummary | 'unasked' | null> {
    // Audit lines hold what another version of hookbox has written.
    if (filterFault(filter) !== null) return null;
    if (asked >= MOST_ASKED) return 'unasked';
    asked += 1;
    const { events } = await operationsOf(inbox).search(filter, { limit: 1 });
    return events[0] ?? null;
  }

  /** The error that an event has of the group, or has had: it may have failed of something else since. */
  async function errorOf(event: EventSummary, fingerprint: string): Promise<GroupSample> {
    const isOfGroup = (error: EventSummary['lastError']) => error !== null && retryPrintOf(error) === fingerprint;
    if (isOfGroup(event.lastError)) return event.lastError;
    const attempts = await inbox.attempts(event);
    return attempts.find(({ error }) => isOfGroup(error))?.error ?? null;
  }

  async function find({ fingerprint, retrying = false, bulk }: GroupPlace): Promise<GroupSample> {
    const group: EventFilter = retrying ? { retrying, fingerprint } : { states: ['dead'], fingerprint };
    // What was rerun or discarded is in no group any more.
    for (const filter of [...(bulk === undefined ? [] : [{ bulk }]), group]) {
      const event = await newest(filter);
      const error = event === null || event === 'unasked' ? event : await errorOf(event, fingerprint);
      if (error !== null) return error;
    }
    return null;
  }

  return (place) => {
    const key = JSON.stringify(place);
    const found = known.get(key) ?? find(place);
    known.set(key, found);
    return found;
  };
}
