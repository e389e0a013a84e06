import type { Mark } from '../../inbox/rules/marks.ts';
import type { EventAct } from '../../inbox/operator/audit.ts';
import { type EventHistory, type TimelineEntry, foldedTimeline, type FoldedAttempts } from '../../ops/find.ts';
import { actInWords, replayInWords, VIA_WORDS } from '../../ops/words/act-words.ts';
import { afterHowLong, dueInWords, lineInWords, nthAttempt, ofLimit, withoutRun } from '../../ops/words/event-words.ts';
import { age, number, plural, timestamp } from '../../ops/words/format.ts';
import { oneLine, printableLines } from '../../printable.ts';
import { StoredText, Time } from '../parts/text.tsx';
import type { Visit } from '../visit.ts';

const MAX_STACK = 20_000;

type Entry = TimelineEntry | FoldedAttempts;
type Attempt = EventHistory['attempts'][number];

export function timelineOf({ timeline, summary }: EventHistory, { base, now }: Visit, releases: readonly Mark[]) {
  const isRetry = summary.attempts > 0;
  return (
    <ol class="timeline">
      {foldedTimeline(timeline).map((entry, n) => (
        <li id={idOf(entry, n)} class={`entry ${toneOf(entry, now)}`}>
          {isToCome(entry, now) ? (
            <>
              {dueInWords(entry.at, isRetry, now)} (<time datetime={entry.at.toISOString()}>{timestamp(entry.at)}</time>
              )
            </>
          ) : (
            <>
              <Time at={entry.at} now={now} /> {inWords(entry, summary, releases, base, now)}
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

function inWords(entry: Entry, summary: EventHistory['summary'], releases: readonly Mark[], base: string, now: Date) {
  switch (entry.what) {
    case 'stored':
      return `received and stored${summary.verified ? '' : ', signature not verified'}`;
    case 'redelivered':
      return 'redelivered';
    case 'redeliveries':
      return `the first of ${plural(entry.count, 'redelivery', 'redeliveries')} that are not listed separately`;
    case 'conflict':
      return 'redelivered with a different body (conflict): hookbox uses the first body and keeps the newest conflicting one';
    case 'act':
      return actOf(entry.act, base);
    case 'attempts':
      return foldedInWords(entry, releases, now);
    case 'attempt':
      return attemptInWords(entry.attempt, releases);
    case 'step':
      return (
        <>
          attempt {number(entry.attempt)} ran the step <StoredText text={entry.name} />
        </>
      );
    case 'due':
      return dueInWords(entry.at, summary.attempts > 0, now);
    case 'settled':
      return (
        <>
          <span class={`state-${entry.state}`}>{entry.state}</span>
          {entry.state === 'dead' && summary.deadReason !== null && ` (${summary.deadReason})`}
        </>
      );
  }
}

function actOf(done: EventAct, base: string) {
  const { act, actor, via, reason, bulk } = done;
  return (
    <>
      <strong>{oneLine(actInWords(act), 20)}</strong> by <StoredText text={actor} atMost={200} />{' '}
      <span class="muted">{VIA_WORDS[via]}</span>
      {replayInWords(done)}
      {bulk !== null && (
        <>
          {' '}
          as part of <a href={`${base}/bulks/${bulk}`}>bulk action {number(bulk)}</a>
        </>
      )}
      {reason === null ? (
        <span class="muted">, no reason given</span>
      ) : (
        <>
          : <StoredText text={reason} atMost={1_000} />
        </>
      )}
    </>
  );
}

function foldedInWords({ attempts, last }: FoldedAttempts, releases: readonly Mark[], now: Date) {
  const [first] = attempts;
  return (
    <>
      attempts {number(first.number)} to {number(last.number)}
      {ofLimit(last)}: <strong class={`outcome-${last.outcome}`}>{last.outcome}</strong> {number(attempts.length)} times
      with the same error,{' '}
      <span class="muted">
        most recently <Time at={last.startedAt} now={now} />
      </span>
      <div class="error">{errorInWords(last.error)}</div>
      <details id={`each-from-${first.number}`}>
        <summary>All attempts</summary>
        <ol class="timeline">
          {attempts.map((attempt) => (
            <li class={`entry ${oneLine(attempt.outcome, 20)}`}>
              <Time at={attempt.startedAt} now={now} /> {attemptInWords(attempt, releases)}
            </li>
          ))}
        </ol>
      </details>
    </>
  );
}

function attemptInWords(attempt: Attempt, releases: readonly Mark[]) {
  const { number: nth, trigger, outcome, startedAt, endedAt, error, skipped, log, processor } = attempt;
  const unrun = withoutRun(attempt);
  if (unrun !== null) return unrun;
  const release = releases.findLast(({ at }) => at <= startedAt);
  const ms = Math.max(endedAt.getTime() - startedAt.getTime(), 0);
  return (
    <>
      {nthAttempt(attempt)}
      {trigger === 'manual' && ' (the first after a rerun)'}: <strong class={`outcome-${outcome}`}>{outcome}</strong>
      <span class="muted">{afterHowLong(outcome, ms < 1_000 ? `${number(ms)} ms` : age(ms))}</span>
      {release !== undefined && (
        <span class="muted">
          {' '}
          by release <StoredText text={release.name} atMost={40} />
        </span>
      )}
      {processor !== undefined && (
        <span class="muted">
          {release === undefined ? ' by' : ','} processor <StoredText text={processor} atMost={40} />
        </span>
      )}
      {skipped !== undefined && (
        <>
          , skipped: <StoredText text={skipped} />
        </>
      )}
      {error !== null && (
        <div class="error">
          {errorInWords(error)}
          {error.stack !== null && (
            <details id={`stack-${nth}`}>
              <summary>Stack</summary>
              <pre tabindex={0} aria-label={`Stack of attempt ${nth}`}>
                {printableLines(error.stack.slice(0, MAX_STACK))}
              </pre>
            </details>
          )}
        </div>
      )}
      {log !== undefined && (
        <details id={`log-${nth}`}>
          <summary>{plural(log.length, 'log line')}</summary>
          <pre tabindex={0} aria-label={`Log lines of attempt ${nth}`}>
            {log.map(lineInWords).join('\n')}
          </pre>
        </details>
      )}
    </>
  );
}

function errorInWords(error: Attempt['error']) {
  return (
    <p>
      <strong>
        <StoredText text={error?.name ?? ''} />
      </strong>
      : <StoredText text={error?.message ?? ''} atMost={2_000} />
    </p>
  );
}

function idOf(entry: Entry, n: number): string {
  if (entry.what === 'attempts') return `attempts-${entry.attempts[0].number}`;
  return `${entry.what}-${entry.what === 'attempt' ? entry.attempt.number : n}`;
}

/** Clocks of processes differ, so this is known only for the next attempt. */
function isToCome(entry: Entry, now: Date): boolean {
  return entry.what === 'due' && entry.at > now;
}

function toneOf(entry: Entry, now: Date): string {
  if (isToCome(entry, now)) return 'to-come';
  if (entry.what === 'attempts') return oneLine(entry.last.outcome, 20);
  if (entry.what === 'attempt') return oneLine(entry.attempt.outcome, 20);
  return entry.what === 'settled' ? entry.state : entry.what;
}
