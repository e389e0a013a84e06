import type { Child } from 'hono/jsx';
import type { Gauge } from '../../inbox/rules/counted.ts';
import { brokenInWords } from '../../ops/releases.ts';
import { sinceText, type Warning } from '../../ops/health.ts';
import { causeOfDeath } from '../../ops/words/event-words.ts';
import { bounded, number, plural, shortTime } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventHref, eventsHref, pendingHref } from '../parts/filter-fields.ts';
import { ActForm } from '../parts/form-fields.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { AfterColon, TypeAt, Until, Culprit } from '../parts/waiting.tsx';
import { StoredText } from '../parts/text.tsx';
import type { Visit } from '../visit.ts';
import { type Extent, type Level, levelOf, type Trouble } from './incidents.ts';
import { whatWaits, type Waiters } from './stuck-events.ts';

export interface Incident {
  readonly trouble: Trouble;
  readonly extent: Extent;
}

interface ListParts {
  readonly visit: Visit;
  readonly incidents: readonly Incident[];
  readonly ignoredSince: Date;
}

export function IncidentList({ visit, incidents, ignoredSince }: ListParts) {
  return (
    <ul class="incidents" id="headline">
      {incidents.map(({ trouble, extent }) => {
        const { head, rest, of, button } = lineOf(trouble, visit, ignoredSince);
        const level = levelOf(trouble);
        return (
          <li class={`incident ${level}`}>
            <span class="severity">
              <span class="unseen">{SEVERITIES[level]}: </span>
            </span>
            <p class="says">
              <strong>{head}</strong>
              {rest !== null && <span class="muted">{rest}</span>}
            </p>
            {lastDay(extent.recent)}
            <span class="count">{countOf(extent.count, of)}</span>
            <span class="when">{extentTimes(extent, trouble, visit)}</span>
            <span class="act">{button}</span>
          </li>
        );
      })}
    </ul>
  );
}

const SEVERITIES: Readonly<Record<Level, string>> = { loss: 'Loss', retry: 'Retry', paused: 'Paused' };

function countOf(count: Gauge | null, of: string) {
  if (count === null) return <></>;
  return (
    <>
      <b>{bounded(count)}</b> <span class="muted">{of}</span>
    </>
  );
}

function extentTimes({ first, last }: Extent, trouble: Trouble, { base, now }: Visit) {
  if (first === null) return <></>;
  const from = timeOf(first, now);
  if (last === null) return <>since {from}</>;
  const isOneTime = Math.floor(first.getTime() / 60_000) === Math.floor(last.getTime() / 60_000);
  const until = isOneTime ? from : timeOf(last, now, first);
  return (
    <>
      {!isOneTime && <>{from} – </>}
      {trouble.what === 'dead' ? (
        <a href={eventHref(base, trouble.group.newest)} title="Show newest event">
          <span class="unseen">Show newest event: </span>
          {until}
        </a>
      ) : (
        until
      )}
    </>
  );
}

/** @param beside - the time shown before it: if it is of the same day, the day is shown only once */
function timeOf(at: Date, now: Date, beside = now) {
  return (
    <time datetime={at.toISOString()} title={sinceText(at, now)}>
      {shortTime(at, beside)}
    </time>
  );
}

/** One bar per hour of the last day. */
function lastDay(counts: readonly number[] | null) {
  const most = Math.max(0, ...(counts ?? []));
  if (counts === null || most === 0) return <span class="hours" />;
  const label = `The last 24 hours; at most ${number(most)} in an hour`;
  return (
    <span class="hours">
      <Sparkline counts={counts} label={label} />
    </span>
  );
}

interface Line {
  readonly head: Child;
  readonly rest: Child | null;
  /** the unit of the count */
  readonly of: string;
  readonly button: Child;
}

function lineOf(trouble: Trouble, visit: Visit, ignoredSince: Date): Line {
  const { base, now } = visit;
  switch (trouble.what) {
    case 'dead': {
      const { group } = trouble;
      const cause = causeOfDeath(group);
      const href = eventsHref(base, { states: ['dead'], fingerprint: group.fingerprint });
      return {
        head: (
          <a href={href}>
            <StoredText text={cause} atMost={120} />
          </a>
        ),
        rest: null,
        of: 'dead',
        button:
          visit.visitor.role === 'operator' ? (
            <ActForm
              visit={visit}
              to="/bulks"
              label={`Rerun group: ${oneLine(cause, 80)}`}
              hidden={[
                ['act', 'rerun'],
                ['fingerprint', group.fingerprint],
              ]}
            >
              <button type="submit">Rerun…</button>
            </ActForm>
          ) : (
            go(href, 'Show')
          ),
      };
    }
    case 'more dead': {
      const { groups } = trouble;
      const head = groups === 0 ? 'Events are dead' : `${plural(groups, 'more group')} of dead events`;
      return { head: <a href={`${base}/dead`}>{head}</a>, rest: null, of: 'dead', button: go(`${base}/dead`, 'Show') };
    }
    case 'alarm':
      return {
        ...halves(trouble.warning.text),
        of: UNITS[trouble.warning.alarm],
        button: wayOn(trouble.warning, base),
      };
    case 'release': {
      const { change, release, more } = trouble;
      const others = more > 0 ? ` ${plural(more, 'other type')} also failed more often.` : '';
      return { ...halves(brokenInWords(change, release) + others), of: 'failed', button: go('#types', 'Compare') };
    }
    case 'blocked': {
      const { blocked, more } = trouble;
      const isOne = blocked.waiting.length === 1;
      const event = blocked.first?.event ?? blocked.waiting[0]?.oldest;
      const href = eventsHref(base, { states: ['pending'] });
      return {
        head: (
          <a href={`${href}&order=oldest`}>
            {whatWaits(blocked, more)} {isOne ? 'is' : 'are'} stuck
          </a>
        ),
        rest: culpritOf(blocked, base, now),
        of: 'waiting',
        button: go(event === undefined ? href : eventHref(base, culprit(blocked) ?? event), 'Open'),
      };
    }
    case 'retries': {
      const { retries, more } = trouble;
      const href = eventsHref(base, { states: ['pending'], retrying: true });
      return {
        head: (
          <a href={href}>
            {whatWaits(retries, more)} {retries.waiting.length === 1 ? 'is waiting' : 'are waiting'} for a retry
          </a>
        ),
        rest: culpritOf(retries, base, now),
        of: 'retrying',
        button: go(href, 'Show'),
      };
    }
    case 'ignored': {
      const { endpoint, type } = trouble.type;
      const href = eventsHref(base, { endpoint, types: [type], ignoredSince });
      return {
        head: (
          <a href={href}>
            Events of <TypeAt of={trouble.type} /> were ignored
          </a>
        ),
        rest: ' in the last seven days. A processor handles this type now.',
        of: 'ignored',
        button: go(href, 'Show'),
      };
    }
    case 'paused': {
      const { pause } = trouble;
      return {
        head: (
          <a href={pendingHref(base, pause)}>
            <TypeAt of={pause} /> is paused
          </a>
        ),
        rest: (
          <>
            <Until pause={pause} now={now} /> by <StoredText text={pause.actor} atMost={60} />
            <AfterColon reason={pause.reason} />
          </>
        ),
        of: 'waiting',
        button: go(`${base}/paused`, visit.visitor.role === 'operator' ? 'Resume…' : 'Show'),
      };
    }
    case 'more paused': {
      const href = `${base}/paused`;
      const head = <a href={href}>{plural(trouble.count, 'more paused type')}</a>;
      return { head, rest: null, of: '', button: go(href, 'Show') };
    }
  }
}

function go(href: string, words: string) {
  return (
    <a class="button" href={href}>
      {words}
    </a>
  );
}

/** A warning has one or two sentences. Its first clause is the headline. */
function halves(text: string): Pick<Line, 'head' | 'rest'> {
  const at = /[;.] |\.$/.exec(text)?.index ?? text.length;
  return { head: <StoredText text={text.slice(0, at)} />, rest: <StoredText text={text.slice(at)} atMost={300} /> };
}

function culprit({ first }: Waiters) {
  return first?.wait?.reason === 'behind' ? first.wait.blocker.event : first?.event;
}

function culpritOf({ first }: Waiters, base: string, now: Date) {
  if (first === null) return null;
  return (
    <>
      : <Culprit {...first} base={base} now={now} />
    </>
  );
}

const UNITS: Readonly<Record<Warning['alarm'], string>> = {
  silent: '',
  rejecting: 'rejected',
  'no-processor': '',
  unhandled: 'waiting',
  database: '',
};

function wayOn({ alarm, endpoint, types }: Warning, base: string) {
  const at = endpoint === null || endpoint === '*' ? {} : { endpoint };
  switch (alarm) {
    case 'silent':
      return go(eventsHref(base, at), 'Latest events');
    case 'rejecting':
      return go(`${base}/rejected?range=24h`, 'Show');
    case 'no-processor':
      return go(`${base}/health#processors`, 'Processors');
    case 'unhandled':
      return go(eventsHref(base, { ...at, types, states: ['pending'] }), 'Show');
    case 'database':
      return go(`${base}/maintenance#database`, 'Show');
  }
}
