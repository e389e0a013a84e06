import type { EventKey } from '../../inbox/event.ts';
import type { Gauge } from '../../inbox/rules/counted.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import type { Blocker, Wait } from '../../inbox/rules/waiting.ts';
import { oneLine } from '../../printable.ts';
import { age, bounded, number, relative } from './format.ts';
import { pausedInWords } from './pause-words.ts';

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
