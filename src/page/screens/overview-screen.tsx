import type { Child } from 'hono/jsx';
import { deadGroups } from '../../ops/find.ts';
import { stats, type Stats } from '../../ops/stats.ts';
import { changesOf } from '../../ops/what-changed.ts';
import { DeadByTypeChart } from '../charts/dead-by-type-chart.tsx';
import { LatencyChart } from '../charts/latency-chart.tsx';
import { OutcomesChart } from '../charts/outcomes-chart.tsx';
import { TypeChanges } from '../charts/type-changes.tsx';
import { withDead } from '../../ops/words/tab-words.ts';
import { age, bounded, number, percent, plural } from '../../ops/words/format.ts';
import { eventHref, eventsHref } from '../parts/screen-links.ts';
import { rangeOf, Ranges, stepsOf } from '../parts/time-range.tsx';
import { AtEndpoint } from '../parts/at-endpoint.tsx';
import { EntityName } from '../parts/stored-text.tsx';
import { Shortened } from '../parts/shortened.tsx';
import { Headline } from './overview-headline.tsx';
import { pausesToTell } from './troubles.ts';
import { findStuck, type Stuck, type Waiting } from './stuck-events.ts';
import { Time } from '../parts/time-and-age.tsx';
import { pausedTypes } from '../../ops/pauses.ts';
import { PausedTypes } from '../parts/paused-types.tsx';
import { UnhandledEvents } from '../parts/unhandled-events.tsx';
import { WaitInBrief, WhyItWaits } from '../parts/why-it-waits.tsx';
import type { Screen, Visit } from '../visit.ts';
import { ListTable } from '../parts/list-table.tsx';

const SHOWN = 5;

/** Whether anything is stuck, since when and why; what happened in a span, and how things stand now. */
export async function overviewScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const range = rangeOf(visit.url);
  const [figures, groups, pauses] = await Promise.all([
    stats(inbox, stepsOf(range, visit.now)),
    deadGroups(inbox),
    pausedTypes(inbox),
  ]);
  const [changes, stuck] = await Promise.all([
    changesOf(inbox, figures, range.label, visit.now),
    findStuck(inbox, figures.now.oldest, visit.now, [...pauses, ...figures.unhandled.waiting]),
  ]);
  const told = pausesToTell(pauses);
  const span = { steps: figures.steps, stepMs: range.stepMs, now: visit.now };
  return {
    title: 'Overview',
    tab: withDead(figures.now.dead, 'Overview'),
    current: '/',
    content: (
      <>
        <Ranges current={range} />
        <div id="live">
          <Headline
            visit={visit}
            figures={figures}
            stuck={stuck}
            groups={groups}
            changes={changes}
            pauses={pauses}
            rangeLabel={range.label}
          />
          <div class="answers">
            <OutcomesChart {...span} base={visit.base} marks={changes.marks} />
            <TypeChanges changes={changes.types} spans={changes.spans} isReleaseUnnamed={changes.isReleaseUnnamed} />
          </div>
          <Tiles visit={visit} figures={figures} rangeLabel={range.label} />
          {/* The headline has said the others, and what nobody handles. */}
          <PausedTypes visit={visit} pauses={pauses.filter((pause) => !told.includes(pause))} />
          <UnhandledEvents visit={visit} unhandled={{ ...figures.unhandled, waiting: [] }} />
          <WaitingLongest visit={visit} stuck={stuck} />
          <div class="charts" id="charts">
            <LatencyChart {...span} total={figures.answerMs} />
            <DeadByTypeChart byType={figures.byType} />
          </div>
        </div>
      </>
    ),
  };
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
        and {plural(totals.failed, 'failed attempt')}
      </Tile>
      <Tile
        id="retrying"
        name="Waiting for a retry"
        figure={bounded(standing.retrying)}
        href={eventsHref(base, { states: ['pending'], retrying: true })}
      >
        of {bounded(standing.pending)} pending; {bounded(standing.processing)} being processed
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
        {oldestPending === null ? 'no event is pending' : <Shortened text={oldestPending.id} atMost={22} />}
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
      <h2>Waiting longest</h2>
      <ListTable columns={['about', 'events', 'oldest received', 'why']}>
        {shown.map((waiting) => (
          <WaitingRow waiting={waiting} stuck={stuck} more={stuck.more} base={base} now={now} />
        ))}
      </ListTable>
      {(stuck.waiting.length > SHOWN || stuck.more) && (
        <p>
          <a href={eventsHref(base, { states: ['pending'] })}>All pending events</a>
        </p>
      )}
    </section>
  );
}

function WaitingRow({
  waiting,
  stuck,
  more,
  base,
  now,
}: {
  readonly waiting: Waiting;
  readonly stuck: Stuck;
  /** whether there may be more events about it than were looked at */
  readonly more: boolean;
  readonly base: string;
  readonly now: Date;
}) {
  const { entity, oldest, count } = waiting;
  const event = eventHref(base, oldest);
  const wait = stuck.causes.get(waiting)?.wait ?? null;
  const all = entity === null ? event : eventsHref(base, { endpoint: oldest.endpoint, entity });
  return (
    <tr id={`waiting-${oldest.seq}`} data-href={all}>
      <th scope="row">
        <a href={all}>
          <EntityName name={entity ?? oldest.id} />
        </a>
        <AtEndpoint endpoint={oldest.endpoint} />
      </th>
      <td data-label="events">{bounded({ count, more })}</td>
      <td data-label="oldest received">
        <a href={event}>
          <Time at={oldest.receivedAt} now={now} />
        </a>
      </td>
      <td data-label="why">
        {stuck.told.has(waiting) ? (
          <WaitInBrief wait={wait} base={base} now={now} />
        ) : (
          <WhyItWaits event={oldest} wait={wait} base={base} now={now} />
        )}
      </td>
    </tr>
  );
}
