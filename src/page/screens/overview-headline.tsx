import type { Gauge } from '../../inbox/rules/counted.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import type { DeadGroup } from '../../inbox/operator/search.ts';
import type { Stats } from '../../ops/stats.ts';
import { type SinceRelease, type TypeChange, type Changes, brokenInWords, failingMore } from '../../ops/releases.ts';
import { causeOfDeath } from '../../ops/words/event-words.ts';
import { age, bounded, number, plural } from '../../ops/words/format.ts';
import { calmText, sinceText, warningsOf, type Warning } from '../../ops/health.ts';
import { eventHref, eventsHref } from '../parts/filter-fields.ts';
import { PausedType } from '../parts/held-types.tsx';
import { StoredText } from '../parts/stored-text.tsx';
import { Culprit } from '../parts/why-it-waits.tsx';
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

/** What an operator wants to know at 3 a.m., in words: what is wrong, the worst first; and what comes in, and who handles it. */
export function Headline({ visit, figures, stuck, groups, changes, pauses, rangeLabel }: HeadlineParts) {
  const { base, now, operated } = visit;
  const { traffic, unhandled } = figures;
  const { dead } = figures.now;
  const watch = { traffic, unhandled, ...figures.processing };
  const warnings = warningsOf(watch, operated.inbox, now);
  const troubles = troublesOf({ dead, groups, warnings, changes, pauses, stuck });
  const isRejecting = warnings.some(({ alarm, endpoint }) => alarm === 'rejecting' && endpoint === null);
  const calm = calmText(watch, now, warnings);
  return (
    <div class={`${troubles.length === 0 ? 'notice' : 'warning'} headline`} id="watch">
      {troubles.length > 0 && (
        <ul id="headline">
          {troubles.map((trouble) => (
            <li>
              <InWords trouble={trouble} base={base} now={now} />
            </li>
          ))}
        </ul>
      )}
      {troubles.length === 0 && (
        <p id="headline">All well: no event is dead, and none has been pending for more than a minute.</p>
      )}
      <p class="muted" id="vital">
        {troubles.length > 0 && dead.count === 0 && 'No event is dead. '}
        {troubles.length > 0 && stuck.waiting.length === 0 && 'No event has been pending for more than a minute. '}
        {calm}
        {!isRejecting && <RefusedInWords base={base} totals={figures.totals} rangeLabel={rangeLabel} />}
      </p>
    </div>
  );
}

interface At {
  readonly base: string;
  readonly now: Date;
}

function InWords({ trouble, base, now }: At & { readonly trouble: Trouble }) {
  switch (trouble.what) {
    case 'dead':
      return <Dead {...trouble} base={base} now={now} />;
    case 'alarm':
      return (
        <>
          <strong>
            <StoredText text={trouble.warning.text} />
          </strong>{' '}
          <WayOn warning={trouble.warning} base={base} />
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
      return <Blocked {...trouble} base={base} now={now} />;
    case 'paused':
      return <Paused {...trouble} base={base} now={now} />;
    case 'retries':
      return <Retries {...trouble} base={base} now={now} />;
  }
}

/** Where to go on from a warning. */
function WayOn({ warning: { alarm, endpoint, types }, base }: { readonly warning: Warning; readonly base: string }) {
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
  }
}

const GROUPS_NAMED = 3;

function Dead({ dead, groups, since, base, now }: At & Omit<Extract<Trouble, { what: 'dead' }>, 'what'>) {
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

/** That what killed them may be over: nothing that was received since has died of it. */
function noneLately({ newest }: Pick<DeadGroup, 'newest'>, now: Date): string {
  const ms = now.getTime() - newest.receivedAt.getTime();
  return ms < LATELY_MS ? '' : `, none received for ${age(ms)}`;
}

/** `some since 03:12 UTC (47 min)` */
function sinceOf({ count }: { readonly count: number }, at: Date, now: Date): string {
  return `${count === 1 ? '' : 'some '}since ${sinceText(at, now)}`;
}

function Blocked({ blocked, more, base, now }: At & { readonly blocked: Waiters; readonly more: boolean }) {
  const [longest] = blocked.waiting;
  const isOne = blocked.waiting.length === 1 && !more;
  return (
    <>
      <strong>
        {whatWaits(blocked, more)} {blocked.waiting.length === 1 ? 'is' : 'are'} stuck
      </strong>
      {blocked.first !== null && (
        <>
          : <Culprit {...blocked.first} base={base} now={now} />
        </>
      )}
      .
      {longest !== undefined && (
        <>
          {' '}
          {isOne ? 'It has' : 'The oldest of them has'} been waiting since{' '}
          <a href={eventHref(base, longest.oldest)}>
            <time datetime={longest.oldest.receivedAt.toISOString()}>{sinceText(longest.oldest.receivedAt, now)}</time>
          </a>
          .
        </>
      )}
    </>
  );
}

function Paused({ pause, base, now }: At & { readonly pause: Pause }) {
  const { endpoint, type, since, actor, reason, waiting, more } = pause;
  const isOne = waiting === 1 && !more;
  return (
    <>
      <strong>
        <a href={eventsHref(base, { endpoint, types: [type], states: ['pending'] })}>
          {bounded({ count: waiting, more })} {isOne ? 'event' : 'events'} of <PausedType pause={pause} />{' '}
          {isOne ? 'is waiting' : 'are waiting'}
        </a>
      </strong>
      ; the type has been paused since {sinceText(since, now)} by <StoredText text={actor} atMost={60} />
      {reason !== null && (
        <>
          : <StoredText text={reason} atMost={300} />
        </>
      )}
      . <a href={`${base}/paused`}>Resume</a>
    </>
  );
}

function Retries({ retries, more, base, now }: At & { readonly retries: Waiters; readonly more: boolean }) {
  const isOne = retries.waiting.length === 1;
  return (
    <>
      <a href={eventsHref(base, { states: ['pending'], retrying: true })}>{whatWaits(retries, more)}</a>{' '}
      {isOne ? 'is waiting' : 'are waiting'} for a retry
      {retries.first !== null && (
        <>
          : <Culprit {...retries.first} base={base} now={now} />
        </>
      )}
      .
    </>
  );
}

function RefusedInWords({
  base,
  totals: { stored, duplicate, rejected },
  rangeLabel,
}: {
  readonly base: string;
  readonly totals: Stats['totals'];
  readonly rangeLabel: string;
}) {
  const all = stored + duplicate + rejected;
  if (all === 0) return <></>;
  return (
    <>
      {' '}
      <a href={`${base}/rejected`}>
        {number(rejected)} of {plural(all, 'delivery', 'deliveries')}
      </a>{' '}
      {rejected === 1 ? 'was' : 'were'} rejected in the last {rangeLabel}.
    </>
  );
}

/** Something that an operator should see to. */
export type Trouble =
  | { readonly what: 'dead'; readonly dead: Gauge; readonly groups: readonly DeadGroup[]; readonly since: Date | null }
  /** nothing comes, all is rejected, or nobody handles what came */
  | { readonly what: 'alarm'; readonly warning: Warning }
  /** what fails more often since a release, the worst first */
  | { readonly what: 'release'; readonly changes: readonly TypeChange[]; readonly release: SinceRelease }
  /** what waits and has not merely failed: what holds it up */
  | { readonly what: 'blocked'; readonly blocked: Waiters; readonly more: boolean }
  /** what an operator has paused, and events wait for */
  | { readonly what: 'paused'; readonly pause: Pause }
  /** what has failed, is tried again, and holds up nothing */
  | { readonly what: 'retries'; readonly retries: Waiters; readonly more: boolean };

export interface Seen {
  readonly dead: Gauge;
  /** the largest first */
  readonly groups: readonly DeadGroup[];
  /** the worst first */
  readonly warnings: readonly Warning[];
  readonly changes: Pick<Changes, 'types' | 'release'>;
  readonly pauses: readonly Pause[];
  readonly stuck: Stuck;
}

/** So many pauses are told of here, those that most events wait for. */
const PAUSES_TOLD = 5;

/** The pauses that there is to see to, as events wait for their end. */
export function pausesToTell(pauses: readonly Pause[]): readonly Pause[] {
  return pauses
    .filter(({ waiting }) => waiting > 0)
    .toSorted((one, other) => other.waiting - one.waiting)
    .slice(0, PAUSES_TOLD);
}

/**
 * What there is to see to, the worst first: what is lost unless somebody acts, then what concerns every event, then what a
 * release has broken, then what holds up others, what somebody has paused, and last what goes on by itself.
 */
export function troublesOf({ dead, groups, warnings, changes, pauses, stuck }: Seen): readonly Trouble[] {
  const { blocked, retries, more } = stuck;
  const { release } = changes;
  const broken = failingMore(changes.types);
  return [
    ...(dead.count === 0 ? [] : [{ what: 'dead', dead, groups, since: deadSince(groups) } as const]),
    ...warnings.map((warning) => ({ what: 'alarm', warning }) as const),
    ...(release === null || broken.length === 0 ? [] : [{ what: 'release', changes: broken, release } as const]),
    ...(blocked.waiting.length === 0 ? [] : [{ what: 'blocked', blocked, more } as const]),
    ...pausesToTell(pauses).map((pause) => ({ what: 'paused', pause }) as const),
    ...(retries.waiting.length === 0 ? [] : [{ what: 'retries', retries, more } as const]),
  ];
}

/**
 * Since when some of those that are dead are so at least; `null` where nobody can tell. Of a group its oldest and its newest are
 * known by when they were received: what was rerun meanwhile may have died after others.
 */
function deadSince(groups: readonly Pick<DeadGroup, 'oldest' | 'newest'>[]): Date | null {
  return groups
    .flatMap(({ oldest, newest }) => [oldest.settledAt, newest.settledAt])
    .reduce((first, at) => (first === null || (at !== null && at < first) ? at : first), null);
}
