import type { Gauge } from '../../inbox/rules/counted.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import type { DeadGroup } from '../../inbox/operator/search.ts';
import type { Stats } from '../../ops/stats.ts';
import { type SinceRelease, type TypeChange, type Changes, brokenInWords, failingMore } from '../../ops/releases.ts';
import { causeOfDeath } from '../../ops/words/event-words.ts';
import { age, bounded, number, plural } from '../../ops/words/format.ts';
import { calmText, sinceText, warningsOf, type Warning } from '../../ops/health.ts';
import { eventHref, eventsHref, pendingHref } from '../parts/filter-fields.ts';
import { AfterColon, TypeAt, Until, Culprit } from '../parts/waiting.tsx';
import { StoredText } from '../parts/text.tsx';
import type { Visit } from '../visit.ts';
import { whatWaits, type Stuck, type Waiters } from './stuck-events.ts';

interface HeadlineParts {
  readonly visit: Visit;
  readonly figures: Stats;
  readonly stuck: Stuck;
  readonly groups: readonly DeadGroup[];
  readonly changes: Changes;
  readonly pauses: readonly Pause[];
  readonly rangeLabel: string;
}

export function Headline({ visit, figures, stuck, groups, changes, pauses, rangeLabel }: HeadlineParts) {
  const { base, now, operated } = visit;
  const { traffic, unhandled, totals } = figures;
  const { dead } = figures.now;
  const watch = { traffic, unhandled, ...figures.processing };
  const warnings = warningsOf(watch, operated.inbox, now);
  const troubles = troublesOf({ dead, groups, warnings, changes, pauses, stuck });
  const isCalm = troubles.length === 0;
  const isRejecting = warnings.some(({ alarm, endpoint }) => alarm === 'rejecting' && endpoint === null);
  const deliveries = totals.stored + totals.duplicate + totals.rejected;
  return (
    <div class={`${isCalm ? 'notice' : 'warning'} headline`} id="watch">
      {isCalm ? (
        <p id="headline">All well: no event is dead, and none has been pending for more than a minute.</p>
      ) : (
        <ul id="headline">
          {troubles.map((trouble) => (
            <li>{inWords(trouble, base, now)}</li>
          ))}
        </ul>
      )}
      <p class="muted" id="vital">
        {!isCalm && dead.count === 0 && 'No event is dead. '}
        {!isCalm && stuck.waiting.length === 0 && 'No event has been pending for more than a minute. '}
        {calmText(watch, now, warnings)}
        {!isRejecting && deliveries > 0 && (
          <>
            {' '}
            <a href={`${base}/rejected`}>
              {number(totals.rejected)} of {plural(deliveries, 'delivery', 'deliveries')}
            </a>{' '}
            {totals.rejected === 1 ? 'was' : 'were'} rejected in the last {rangeLabel}.
          </>
        )}
      </p>
    </div>
  );
}

type TroubleOf<What extends Trouble['what']> = Extract<Trouble, { readonly what: What }>;

function inWords(trouble: Trouble, base: string, now: Date) {
  switch (trouble.what) {
    case 'dead':
      return deadInWords(trouble, base, now);
    case 'alarm':
      return (
        <>
          <strong>
            <StoredText text={trouble.warning.text} />
          </strong>{' '}
          {wayOn(trouble.warning, base)}
        </>
      );
    case 'release':
      return (
        <>
          <strong>
            <StoredText text={brokenInWords(trouble.changes, trouble.release, now)} />
          </strong>{' '}
          <a href="#types">By type</a>
        </>
      );
    case 'blocked':
      return blockedInWords(trouble, base, now);
    case 'paused':
      return pausedInWords(trouble.pause, base, now);
    case 'retries': {
      const { retries, more } = trouble;
      return (
        <>
          <a href={eventsHref(base, { states: ['pending'], retrying: true })}>{whatWaits(retries, more)}</a>{' '}
          {retries.waiting.length === 1 ? 'is waiting' : 'are waiting'} for a retry
          {culpritOf(retries, base, now)}.
        </>
      );
    }
  }
}

function culpritOf({ first }: Waiters, base: string, now: Date) {
  if (first === null) return <></>;
  return (
    <>
      : <Culprit {...first} base={base} now={now} />
    </>
  );
}

function wayOn({ alarm, endpoint, types }: Warning, base: string) {
  const at = endpoint === null || endpoint === '*' ? {} : { endpoint };
  switch (alarm) {
    case 'silent':
      return <a href={eventsHref(base, at)}>Latest events</a>;
    case 'rejecting':
      return <a href={`${base}/rejected?range=24h`}>Rejected deliveries</a>;
    case 'no-processor':
      return <a href={`${base}/health#processors`}>Processors</a>;
    case 'unhandled':
      return <a href={eventsHref(base, { ...at, types, states: ['pending'] })}>Show events</a>;
    case 'database':
      return <a href={`${base}/maintenance#database`}>Maintenance</a>;
  }
}

const GROUPS_NAMED = 3;

function deadInWords({ dead, groups, since }: TroubleOf<'dead'>, base: string, now: Date) {
  const named = groups.slice(0, GROUPS_NAMED);
  return (
    <>
      <strong>
        <a href={`${base}/dead`}>
          {bounded(dead)} {dead.count === 1 ? 'event is' : 'events are'} dead
        </a>
      </strong>
      {groups.length > 0 && ` in ${plural(groups.length, 'group')}`}
      {since !== null && `, ${sinceOf(dead, since, now)}`}
      {named.length > 0 && (
        <ul>
          {named.map((group) => {
            const at = groups.length > 1 ? deadSince([group]) : null;
            return (
              <li>
                {bounded(group)}
                {at !== null && `, ${sinceOf(group, at, now)}`}
                {noneLately(group, now)}:{' '}
                <a href={eventsHref(base, { states: ['dead'], fingerprint: group.fingerprint })}>
                  <StoredText text={causeOfDeath(group)} atMost={160} />
                </a>
              </li>
            );
          })}
          {groups.length > named.length && <li>and {plural(groups.length - named.length, 'smaller group')}</li>}
        </ul>
      )}
    </>
  );
}

const LATELY_MS = 60 * 60_000;

/** The cause may be over: no event that was received since has died of it. */
function noneLately({ newest }: Pick<DeadGroup, 'newest'>, now: Date): string {
  const ms = now.getTime() - newest.receivedAt.getTime();
  return ms < LATELY_MS ? '' : `, none received for ${age(ms)}`;
}

function sinceOf({ count }: { readonly count: number }, at: Date, now: Date): string {
  return `${count === 1 ? '' : 'some '}since ${sinceText(at, now)}`;
}

function blockedInWords({ blocked, more }: TroubleOf<'blocked'>, base: string, now: Date) {
  const [longest] = blocked.waiting;
  const isOne = blocked.waiting.length === 1;
  return (
    <>
      <strong>
        {whatWaits(blocked, more)} {isOne ? 'is' : 'are'} stuck
      </strong>
      {culpritOf(blocked, base, now)}.
      {longest !== undefined && (
        <>
          {' '}
          {isOne && !more ? 'It has' : 'The oldest of them has'} been waiting since{' '}
          <a href={eventHref(base, longest.oldest)}>
            <time datetime={longest.oldest.receivedAt.toISOString()}>{sinceText(longest.oldest.receivedAt, now)}</time>
          </a>
          .
        </>
      )}
    </>
  );
}

function pausedInWords(pause: Pause, base: string, now: Date) {
  const { since, actor, reason, waiting, more } = pause;
  const isOne = waiting === 1 && !more;
  return (
    <>
      <strong>
        <a href={pendingHref(base, pause)}>
          {bounded({ count: waiting, more })} {isOne ? 'event' : 'events'} of <TypeAt of={pause} />{' '}
          {isOne ? 'is waiting' : 'are waiting'}
        </a>
      </strong>
      ; the type has been paused since {sinceText(since, now)}
      <Until pause={pause} now={now} /> by <StoredText text={actor} atMost={60} />
      <AfterColon reason={reason} />. <a href={`${base}/paused`}>Resume</a>
    </>
  );
}

export type Trouble =
  | { readonly what: 'dead'; readonly dead: Gauge; readonly groups: readonly DeadGroup[]; readonly since: Date | null }
  | { readonly what: 'alarm'; readonly warning: Warning }
  | { readonly what: 'release'; readonly changes: readonly TypeChange[]; readonly release: SinceRelease }
  | { readonly what: 'blocked'; readonly blocked: Waiters; readonly more: boolean }
  | { readonly what: 'paused'; readonly pause: Pause }
  | { readonly what: 'retries'; readonly retries: Waiters; readonly more: boolean };

export interface Seen {
  readonly dead: Gauge;
  readonly groups: readonly DeadGroup[];
  readonly warnings: readonly Warning[];
  readonly changes: Pick<Changes, 'types' | 'release'>;
  readonly pauses: readonly Pause[];
  readonly stuck: Stuck;
}

const PAUSES_TOLD = 5;

export function pausesToTell(pauses: readonly Pause[]): readonly Pause[] {
  return pauses
    .filter(({ waiting }) => waiting > 0)
    .toSorted((one, other) => other.waiting - one.waiting)
    .slice(0, PAUSES_TOLD);
}

/** The worst first: lost events, then what concerns all events, a broken release, blocked events, pauses, retries. */
export function troublesOf({ dead, groups, warnings, changes, pauses, stuck }: Seen): readonly Trouble[] {
  const { blocked, retries, more } = stuck;
  const { release } = changes;
  const broken = failingMore(changes.types);
  const troubles: readonly (Trouble | false)[] = [
    dead.count > 0 && { what: 'dead', dead, groups, since: deadSince(groups) },
    ...warnings.map((warning) => ({ what: 'alarm', warning }) as const),
    release !== null && broken.length > 0 && { what: 'release', changes: broken, release },
    blocked.waiting.length > 0 && { what: 'blocked', blocked, more },
    ...pausesToTell(pauses).map((pause) => ({ what: 'paused', pause }) as const),
    retries.waiting.length > 0 && { what: 'retries', retries, more },
  ];
  return troubles.filter((trouble) => trouble !== false);
}

/** Some died at this time, but perhaps not the first: after a rerun, the oldest may have died after others. */
function deadSince(groups: readonly Pick<DeadGroup, 'oldest' | 'newest'>[]): Date | null {
  return groups
    .flatMap(({ oldest, newest }) => [oldest.settledAt, newest.settledAt])
    .reduce((first, at) => (first === null || (at !== null && at < first) ? at : first), null);
}
