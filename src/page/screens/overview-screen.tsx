import type { Child } from 'hono/jsx';
import type { DeadGroup } from '../../inbox/operator/search.ts';
import { deadGroups } from '../../ops/find.ts';
import { stats, type Stats } from '../../ops/stats.ts';
import { DeadByTypeChart } from '../charts/dead-by-type-chart.tsx';
import { LatencyChart } from '../charts/latency-chart.tsx';
import { OutcomesChart } from '../charts/outcomes-chart.tsx';
import { age, bounded, number, percent, plural, shortTime } from '../../ops/words/format.ts';
import { causeOfDeath } from '../../ops/words/event-words.ts';
import { eventHref, eventsHref } from '../parts/screen-links.ts';
import { rangeOf, Ranges, stepsOf } from '../parts/time-range.tsx';
import { EntityName, StoredText } from '../parts/stored-text.tsx';
import { findStuck, whatIsStuck, whyPending, type Stuck, type Waiting } from './stuck-events.ts';
import { Time } from '../parts/time-and-age.tsx';
import { UnhandledEvents } from '../parts/unhandled-events.tsx';
import type { Screen, Visit } from '../visit.ts';

const SHOWN = 5;

/** Whether anything is stuck, since when and why; what happened in a span, and how things stand now. */
export async function overviewScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const range = rangeOf(visit.url);
  const [figures, groups] = await Promise.all([stats(inbox, stepsOf(range, visit.now)), deadGroups(inbox)]);
  const stuck = await findStuck(inbox, figures.now.oldest, visit.now);
  const span = { steps: figures.steps, stepMs: range.stepMs, now: visit.now };
  return {
    title: 'Overview',
    current: '/',
    content: (
      <>
        <Ranges current={range} />
        <div id="live">
          <Headline visit={visit} figures={figures} stuck={stuck} groups={groups} />
          <Tiles visit={visit} figures={figures} rangeLabel={range.label} />
          <UnhandledEvents visit={visit} unhandled={figures.unhandled} />
          <WaitingLongest visit={visit} stuck={stuck} />
          <div class="charts" id="charts">
            <OutcomesChart {...span} />
            <LatencyChart {...span} total={figures.answerMs} />
            <DeadByTypeChart byType={figures.byType} />
          </div>
        </div>
      </>
    ),
  };
}

/** What an operator wants to know at 3 a.m., in words. */
function Headline({
  visit: { base, now },
  figures,
  stuck,
  groups,
}: {
  readonly visit: Visit;
  readonly figures: Stats;
  readonly stuck: Stuck;
  readonly groups: readonly DeadGroup[];
}) {
  const { dead } = figures.now;
  const [longest] = stuck.waiting;
  if (longest === undefined && dead.count === 0) {
    return (
      <p class="notice headline" id="headline">
        Nothing is stuck: no event has been pending for more than a minute, and none is dead.
      </p>
    );
  }
  return (
    <p class="warning headline" id="headline">
      {longest === undefined ? (
        'Nothing waits: no event has been pending for more than a minute. '
      ) : (
        <>
          <strong>
            {whatIsStuck(stuck)} {stuck.waiting.length === 1 ? 'is' : 'are'} stuck
          </strong>
          : the <a href={eventHref(base, longest.oldest)}>oldest pending event</a> has waited since{' '}
          <time datetime={longest.oldest.receivedAt.toISOString()}>{shortTime(longest.oldest.receivedAt, now)}</time>{' '}
          UTC ({age(now.getTime() - longest.oldest.receivedAt.getTime())});{' '}
          <StoredText text={whyPending(longest.oldest, now)} />.{' '}
        </>
      )}
      <DeadInWords base={base} dead={dead} groups={groups} />
    </p>
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

function Tiles({
  visit: { base, now },
  figures: { totals, now: standing, redeliveryRate, since },
  rangeLabel,
}: {
  readonly visit: Visit;
  readonly figures: Stats;
  readonly rangeLabel: string;
}) {
  const { oldestPending } = standing;
  return (
    <ul class="tiles" id="tiles">
      <Tile
        id="received"
        name={`Received in ${rangeLabel}`}
        figure={number(totals.stored)}
        href={eventsHref(base, { since })}
      >
        and {plural(totals.duplicate, 'redelivery', 'redeliveries')} ({percent(redeliveryRate)})
      </Tile>
      <Tile
        id="processed"
        name={`Processed in ${rangeLabel}`}
        figure={number(totals.processed)}
        href={eventsHref(base, { states: ['processed'], since })}
      >
        and {plural(totals.failed, 'failed attempt')}, tried again
      </Tile>
      <Tile
        id="retrying"
        name="Retrying now"
        figure={bounded(standing.retrying)}
        href={eventsHref(base, { states: ['pending'], retrying: true })}
      >
        of {bounded(standing.pending)} pending; {bounded(standing.processing)} in processing
      </Tile>
      <Tile id="dead" name="Dead now" figure={bounded(standing.dead)} href={`${base}/dead`}>
        {number(totals.dead)} died in {rangeLabel}
      </Tile>
      <Tile
        id="oldest-pending"
        name="Oldest pending"
        figure={oldestPending === null ? 'none' : age(now.getTime() - oldestPending.since.getTime())}
        href={oldestPending === null ? eventsHref(base, { states: ['pending'] }) : eventHref(base, oldestPending)}
      >
        {oldestPending === null ? 'no event waits' : <StoredText text={oldestPending.id} atMost={40} />}
      </Tile>
    </ul>
  );
}

function Tile({
  id,
  name,
  figure,
  href,
  children,
}: {
  readonly id: string;
  readonly name: string;
  readonly figure: string;
  readonly href: string;
  readonly children: Child;
}) {
  return (
    <li class="tile" id={`tile-${id}`}>
      <a href={href}>
        <span class="name">{name}</span> <strong class="figure">{figure}</strong>
      </a>
      <span class="muted">{children}</span>
    </li>
  );
}

/** For which orders. */
function WaitingLongest({ visit: { base, now }, stuck }: { readonly visit: Visit; readonly stuck: Stuck }) {
  if (stuck.waiting.length === 0) return <></>;
  const shown = stuck.waiting.slice(0, SHOWN);
  return (
    <section class="panel" id="waiting">
      <h2>Waiting the longest</h2>
      <table class="list">
        <thead>
          <tr>
            <th scope="col">about</th>
            <th scope="col">events</th>
            <th scope="col">oldest received</th>
            <th scope="col">why</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((waiting) => (
            <WaitingRow waiting={waiting} more={stuck.more} base={base} now={now} />
          ))}
        </tbody>
      </table>
      {(stuck.waiting.length > SHOWN || stuck.more) && (
        <p>
          <a href={eventsHref(base, { states: ['pending'] })}>All pending events</a>
        </p>
      )}
    </section>
  );
}

function WaitingRow({
  waiting: { entity, oldest, count },
  more,
  base,
  now,
}: {
  readonly waiting: Waiting;
  /** whether there may be more events about it than were looked at */
  readonly more: boolean;
  readonly base: string;
  readonly now: Date;
}) {
  const event = eventHref(base, oldest);
  const all = entity === null ? event : eventsHref(base, { endpoint: oldest.endpoint, entity });
  return (
    <tr id={`waiting-${oldest.seq}`} data-href={all}>
      <th scope="row">
        <a href={all}>
          <EntityName name={entity ?? oldest.id} />
        </a>
      </th>
      <td data-label="events">{bounded({ count, more })}</td>
      <td data-label="oldest received">
        <a href={event}>
          <Time at={oldest.receivedAt} now={now} />
        </a>
      </td>
      <td data-label="why">
        <StoredText text={whyPending(oldest, now)} />
      </td>
    </tr>
  );
}
