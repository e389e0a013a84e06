import type { AnyInbox } from '../../inbox/contract.ts';
import { type DeadReason, type EventKey, deadReasons } from '../../inbox/event.ts';
import type { Act, ActResult } from '../../inbox/operator/acts.ts';
import type { Gauge } from '../../inbox/rules/counted.ts';
import { type DeadGroup, type EventSummary, filterFault, type EventFilter } from '../../inbox/operator/search.ts';
import { retryPrintOf } from '../../inbox/rules/error-groups.ts';
import type { Blocker, Wait } from '../../inbox/rules/waiting.ts';
import type { Attempt, LogLine } from '../../inbox/work.ts';
import { oneLine } from '../../printable.ts';
import { operationsOf } from '../operations-of.ts';
import { pausedInWords } from '../pauses.ts';
import { ACT_WORDS } from './act-words.ts';
import { relative, age, bounded, latency, number, plural } from './format.ts';

const DEAD_REASONS = {
  failed: 'its handler failed in the last attempt',
  crashed: 'the process ended three times while the handler was running',
  invalid: 'it does not fit the schema',
} as const satisfies Record<DeadReason, string>;

/** hookbox detects a crash only when the lease expires. */
export function afterHowLong(outcome: Attempt['outcome'], duration: string): string {
  return outcome === 'crashed' ? `, detected after ${duration}` : ` after ${duration}`;
}

/** `attempt 3 of 20` */
export function nthAttempt({ number: nth, limit }: Attempt): string {
  return `attempt ${number(nth)}${ofLimit({ limit })}`;
}

export function ofLimit({ limit }: { readonly limit?: number | undefined }): string {
  return limit === undefined ? '' : ` of ${number(limit)}`;
}

/** `null` if the handler ran. */
export function withoutRun({ outcome, skipped = 'superseded by a newer event' }: Attempt): string | null {
  return outcome === 'superseded' ? `${oneLine(skipped, Infinity)}; its handler did not run` : null;
}

/** `+120 ms warn: late (carrier=DHL)` */
export function lineInWords({ afterMs, level, text }: LogLine): string {
  return `+${latency(afterMs)} ${oneLine(level)}: ${oneLine(text, Infinity)}`;
}

export function dueInWords(at: Date, wasTried: boolean, now: Date): string {
  const which = wasTried ? 'next' : 'first';
  return at > now
    ? `the ${which} attempt is due ${relative(at, now)}`
    : `due, but the ${which} attempt has not started yet`;
}

export function causeOfDeath({ sample, reason }: Pick<DeadGroup, 'sample' | 'reason'>): string {
  return sample === null ? DEAD_REASONS[reason] : `${sample.name}: ${sample.message}`;
}

export function causeOfRetry(sample: EventSummary['lastError']): string {
  return sample === null ? 'no error text' : `${sample.name}: ${sample.message}`;
}

/** A superseded event has an entry in place of an attempt. */
export function attemptsRun({ attempts, lastOutcome }: Pick<EventSummary, 'attempts' | 'lastOutcome'>): number {
  return lastOutcome === 'superseded' ? attempts - 1 : attempts;
}

/** `4; 2 failed since the event was stored or last rerun` */
export function attemptsInWords(summary: EventSummary): string {
  const { failures, lastOutcome } = summary;
  const run = number(attemptsRun(summary));
  const isFree = failures === 0 && (lastOutcome === 'failed' || lastOutcome === 'interrupted');
  const used = failures > 0 ? `${number(failures)} failed` : isFree ? 'none used up' : null;
  return used === null ? run : `${run}; ${used} since the event was stored or last rerun`;
}

/** `dead (failed)`, `pending (retrying)`, `processed (superseded)` */
export function stateText({
  state,
  deadReason,
  failures,
  lastOutcome,
  pruned,
}: Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'lastOutcome' | 'pruned'>): string {
  const remarks = [
    ...(deadReason === null ? [] : [deadReason]),
    ...(state === 'pending' && failures > 0 ? ['retrying'] : []),
    ...(state === 'processed' && lastOutcome === 'superseded' ? ['superseded'] : []),
    ...(pruned ? ['pruned'] : []),
  ];
  return remarks.length === 0 ? state : `${state} (${remarks.join(', ')})`;
}

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

/** The page shows an event as a link. */
export type WaitWords = readonly (string | EventKey)[];

const MOST_OF_ERROR = 160;
const TIMES: Readonly<Record<number, string>> = { 1: 'once', 2: 'twice' };

/** `waits behind evt_1, which has failed twice` */
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
      return [`${laterInWords(event, wait.dueAt, now)}${behindIt(wait.waiting)}`];
    case 'suspect':
      return [
        'is waiting for its turn: a process crashed while its handler was running, and such events are handled one ' +
          `at a time${behindIt(wait.waiting)}`,
      ];
    case 'rate': {
      const { count, perMs } = wait.rate;
      const isShort = perMs < 60_000;
      const next = isShort ? '' : `; the next one may begin ${relative(wait.freeAt, now)}`;
      const rate = `at most ${plural(count, 'attempt')} in ${isShort ? latency(perMs) : age(perMs)}${next}`;
      const waits = `its type has a rate limit: ${rate}`;
      return [`${history(event) ?? 'has not been tried'}; ${waits}${behindIt(wait.waiting)}`];
    }
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

/** For a row of a list: `behind evt_1`, `due in 5 min`, `type paused`; empty without a wait. */
export function waitInBrief(wait: Wait | null, now: Date): WaitWords {
  switch (wait?.reason) {
    case undefined:
      return [];
    case 'running':
      return [`running for ${since(wait.since, now)}`];
    case 'paused':
      return ['type paused'];
    case 'no processor':
      return ['for a processor'];
    case 'behind':
      return ['behind ', wait.blocker.event];
    case 'later':
      return [`due ${relative(wait.dueAt, now)}`];
    case 'suspect':
      return ['for its turn after a crash'];
    case 'rate':
      return ['for the rate limit of its type'];
    case 'next':
      return ['due now'];
    case 'discarded':
      return ['discarded'];
    case 'not handled':
      return ['no processor handled this type'];
  }
}

export function blockerInWords({ event, runningSince, paused = false, waiting }: Blocker, now: Date): string {
  const why = paused ? 'is waiting because its type is paused' : unsettledInWords(event, runningSince, now);
  return `${why}${behindIt(waiting)}`;
}

function unsettledInWords(event: EventSummary, runningSince: Date | null, now: Date): string {
  if (runningSince !== null) {
    const before = event.failures > 0 ? `${history(event) ?? ''} and ` : '';
    return `${before}has been running for ${since(runningSince, now)}`;
  }
  const { dueAt } = event;
  if (dueAt !== null && dueAt > now) return laterInWords(event, dueAt, now);
  return history(event) ?? 'is due; no attempt has started';
}

function history({ failures, attempts, lastOutcome, lastError }: EventSummary): string | null {
  const error = lastError === null ? '' : `: ${oneLine(`${lastError.name}: ${lastError.message}`, MOST_OF_ERROR)}`;
  if (failures > 0) return `has failed ${TIMES[failures] ?? `${number(failures)} times`}${error}`;
  switch (lastOutcome) {
    case 'failed':
      return `has failed, without using up an attempt${error}`;
    case 'crashed':
      return 'was running when its process ended';
    case 'interrupted':
      return 'was interrupted';
    default:
      return attempts > 0 ? 'was rerun' : null;
  }
}

function laterInWords(event: EventSummary, dueAt: Date, now: Date): string {
  const attempt = event.attempts > 0 ? 'next attempt' : 'first attempt';
  return `${history(event) ?? 'is delayed'}; ${attempt} ${relative(dueAt, now)}`;
}

function withoutProcessor(event: EventSummary, lastSeen: Date | null, now: Date): string {
  const noProcessor = `no processor for ${typeOf(event)}`;
  if (lastSeen !== null) return `${noProcessor} has run in the last ${since(lastSeen, now)}`;
  // An attempt without a processor ran inline.
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

export function groupInWords(fingerprint: string, sample: GroupSample): string {
  const reason = deadReasons.find((each) => each === fingerprint);
  const error = sample === 'not searched' ? null : sample;
  if (error === null && reason === undefined) {
    return `${oneLine(fingerprint, 16)} (${sample === null ? 'no events now' : 'not looked up'})`;
  }
  return oneLine(causeOfDeath({ sample: error, reason: reason ?? 'failed' }), MOST_OF_GROUP_NAME);
}

/** Searches per screen. */
const MOST_SEARCHES = 50;

export interface GroupPlace {
  readonly fingerprint: string;
  readonly retrying?: boolean;
  /** a bulk action on the whole group; its list of events is kept for a week */
  readonly bulk?: number;
}

/** `null` if the group is empty now, `'not searched'` if there were too many searches */
type GroupSample = EventSummary['lastError'] | 'not searched';
export type GroupSamples = (place: GroupPlace) => Promise<GroupSample>;

/** Searches each group only once. */
export function groupSamples(inbox: AnyInbox): GroupSamples {
  const known = new Map<string, Promise<GroupSample>>();
  let searches = 0;

  async function newest(filter: EventFilter): Promise<EventSummary | 'not searched' | null> {
    // Another version of hookbox may have written the audit line.
    if (filterFault(filter) !== null) return null;
    if (searches >= MOST_SEARCHES) return 'not searched';
    searches += 1;
    const { events } = await operationsOf(inbox).search(filter, { limit: 1 });
    return events[0] ?? null;
  }

  /** The event may have failed with another error since. */
  async function errorOf(event: EventSummary, fingerprint: string): Promise<GroupSample> {
    const isOfGroup = (error: EventSummary['lastError']) => error !== null && retryPrintOf(error) === fingerprint;
    if (isOfGroup(event.lastError)) return event.lastError;
    const attempts = await inbox.attempts(event);
    return attempts.find(({ error }) => isOfGroup(error))?.error ?? null;
  }

  async function find({ fingerprint, retrying = false, bulk }: GroupPlace): Promise<GroupSample> {
    const group: EventFilter = retrying ? { retrying, fingerprint } : { states: ['dead'], fingerprint };
    for (const filter of [...(bulk === undefined ? [] : [{ bulk }]), group]) {
      const event = await newest(filter);
      const error = event === null || event === 'not searched' ? event : await errorOf(event, fingerprint);
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
