import type { DeadGroup } from '../../inbox/operator/search.ts';
import type { Stats } from '../../ops/stats.ts';
import { causeOfDeath } from '../../ops/words/event-words.ts';
import { age, bounded, number, plural, shortTime } from '../../ops/words/format.ts';
import { calmText, warningsOf, type Warning } from '../../ops/words/watch-words.ts';
import { eventHref, eventsHref } from '../parts/screen-links.ts';
import { StoredText } from '../parts/stored-text.tsx';
import type { Visit } from '../visit.ts';
import { Culprit } from '../parts/why-it-waits.tsx';
import { whatIsStuck, type Stuck } from './stuck-events.ts';

interface HeadlineParts {
  readonly visit: Visit;
  readonly figures: Stats;
  readonly stuck: Stuck;
  readonly groups: readonly DeadGroup[];
}

/** What an operator wants to know at 3 a.m., in words: what is wrong, the worst first; and what comes in, and who handles it. */
export function Headline({ rangeLabel, ...parts }: HeadlineParts & { readonly rangeLabel: string }) {
  const { visit, figures, stuck } = parts;
  const { base, now, operated } = visit;
  const { traffic, unhandled } = figures;
  const watch = { traffic, unhandled, ...figures.processing };
  const warnings = warningsOf(watch, operated.inbox, now);
  const isWell = warnings.length === 0 && stuck.waiting.length === 0 && figures.now.dead.count === 0;
  return (
    <div class={`${isWell ? 'notice' : 'warning'} headline`} id="watch">
      {warnings.length > 0 && (
        <ul id="alarms">
          {warnings.map((warning) => (
            <li>
              <strong>
                <StoredText text={warning.text} />
              </strong>{' '}
              <WayOn warning={warning} base={base} />
            </li>
          ))}
        </ul>
      )}
      <p id="headline">
        <StuckInWords {...parts} isAlarmed={warnings.length > 0} />
      </p>
      <p class="muted" id="vital">
        {calmText(watch, now)}
        <RefusedInWords base={base} totals={figures.totals} rangeLabel={rangeLabel} />
      </p>
    </div>
  );
}

/** Where to go on from a warning. */
function WayOn({ warning: { alarm, endpoint, types }, base }: { readonly warning: Warning; readonly base: string }) {
  const at = endpoint === null || endpoint === '*' ? {} : { endpoint };
  switch (alarm) {
    case 'silent':
      return <a href={eventsHref(base, at)}>The last events</a>;
    case 'refusing':
      return <a href={`${base}/rejected?range=24h`}>Rejected deliveries</a>;
    case 'no-processor':
      return <a href={`${base}/health#processors`}>Processors</a>;
    case 'unhandled':
      return <a href={eventsHref(base, { ...at, types, states: ['pending'] })}>Show them</a>;
  }
}

function StuckInWords({
  visit: { base, now },
  figures,
  stuck,
  groups,
  isAlarmed,
}: HeadlineParts & { readonly isAlarmed: boolean }) {
  const { dead } = figures.now;
  const [longest] = stuck.waiting;
  if (longest === undefined && dead.count === 0) {
    const nothing = 'o event has been pending for more than a minute, and none is dead.';
    return <>{isAlarmed ? `N${nothing}` : `Nothing is stuck: n${nothing}`}</>;
  }
  return (
    <>
      {longest === undefined ? (
        'Nothing waits: no event has been pending for more than a minute. '
      ) : (
        <>
          <strong>
            {whatIsStuck(stuck)} {stuck.waiting.length === 1 ? 'is' : 'are'} stuck
          </strong>
          : {stuck.first !== null && <Culprit {...stuck.first} base={base} now={now} />}. The{' '}
          <a href={eventHref(base, longest.oldest)}>oldest pending event</a> has waited since{' '}
          <time datetime={longest.oldest.receivedAt.toISOString()}>{shortTime(longest.oldest.receivedAt, now)}</time>{' '}
          UTC ({age(now.getTime() - longest.oldest.receivedAt.getTime())}).{' '}
        </>
      )}
      <DeadInWords base={base} dead={dead} groups={groups} />
    </>
  );
}

function DeadInWords({
  base,
  dead,
  groups,
}: {
  readonly base: string;
  readonly dead: Stats['now']['dead'];
  readonly groups: readonly DeadGroup[];
}) {
  const [largest] = groups;
  if (dead.count === 0 || largest === undefined) return <>No event is dead.</>;
  return (
    <>
      <a href={`${base}/dead`}>
        {bounded(dead)} {dead.count === 1 ? 'event is' : 'events are'} dead
      </a>{' '}
      in {plural(groups.length, 'group')}
      {groups.length > 1 ? `, the largest (${bounded(largest)}): ` : ': '}
      <a href={eventsHref(base, { states: ['dead'], fingerprint: largest.fingerprint })}>
        <StoredText text={causeOfDeath(largest)} atMost={160} />
      </a>
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
      refused in {rangeLabel}.
    </>
  );
}
