import type { EventHistory, TimelineEntry } from '../../ops/find.ts';
import { oneLine, printableLines } from '../../printable.ts';
import { afterHowLong } from '../../ops/words/event-words.ts';
import { age, number, plural, relative } from '../../ops/words/format.ts';
import { StoredText } from './stored-text.tsx';
import { Time } from './time-and-age.tsx';

const MAX_STACK = 20_000;

/** Deliveries and attempts of one event, the oldest first, with what went wrong. */
export function Timeline({ history, now }: { readonly history: EventHistory; readonly now: Date }) {
  return (
    <ol class="timeline">
      {history.timeline.map((entry, n) => (
        <li id={idOf(entry, n)} class={`entry ${toneOf(entry)}`}>
          <Time at={entry.at} now={now} /> <Entry entry={entry} history={history} now={now} />
        </li>
      ))}
    </ol>
  );
}

function Entry({
  entry,
  history: { summary },
  now,
}: {
  readonly entry: TimelineEntry;
  readonly history: EventHistory;
  readonly now: Date;
}) {
  switch (entry.what) {
    case 'stored':
      return <>received and stored{summary.verified ? '' : ', without a signature that was checked'}</>;
    case 'redelivered':
      return <>sent again by the service</>;
    case 'redeliveries':
      return <>from here on sent again {plural(entry.count, 'time')}, beside those below</>;
    case 'conflict':
      return <>sent with other bytes: the first ones count, and the newest others are kept beside them</>;
    case 'attempt':
      return <AttemptEntry attempt={entry.attempt} />;
    case 'due':
      return entry.at > now ? <>is due {relative(entry.at, now)}</> : <>is due: it waits for a processor</>;
    case 'settled':
      return (
        <>
          <span class={`state-${entry.state}`}>{entry.state}</span>
          {entry.state === 'dead' && summary.deadReason !== null && ` (${summary.deadReason})`}
        </>
      );
  }
}

function AttemptEntry({ attempt }: { readonly attempt: EventHistory['attempts'][number] }) {
  const { number: nth, trigger, outcome, startedAt, endedAt, error } = attempt;
  return (
    <>
      attempt {number(nth)}
      {trigger === 'manual' && ' (the first after a rerun)'}: <strong class={`outcome-${outcome}`}>{outcome}</strong>
      <span class="muted">{afterHowLong(outcome, lasted(endedAt.getTime() - startedAt.getTime()))}</span>
      {error !== null && (
        <div class="error">
          <p>
            <strong>
              <StoredText text={error.name} />
            </strong>
            : <StoredText text={error.message} atMost={2_000} />
          </p>
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
    </>
  );
}

function lasted(ms: number): string {
  return ms < 1_000 ? `${number(Math.max(ms, 0))} ms` : age(ms);
}

/** So that live updates know an entry again. */
function idOf(entry: TimelineEntry, n: number): string {
  return `${entry.what}-${entry.what === 'attempt' ? entry.attempt.number : n}`;
}

function toneOf(entry: TimelineEntry): string {
  if (entry.what === 'attempt') return oneLine(entry.attempt.outcome, 20);
  return entry.what === 'settled' ? entry.state : entry.what;
}
