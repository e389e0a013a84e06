import type { Child } from 'hono/jsx';
import { deadGroups } from '../../ops/find.ts';
import { pausedTypes } from '../../ops/pauses.ts';
import { stats, type Stats } from '../../ops/stats.ts';
import { comparisonOf, type Comparison, type TypeChange, changesOf, failedPart, verdict } from '../../ops/releases.ts';
import { age, bounded, number, percent, plural, latency, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { LatencyChart } from '../charts/latency-chart.tsx';
import { OutcomesChart } from '../charts/outcomes-chart.tsx';
import { AtEndpoint, Shortened, EntityName } from '../parts/stored-text.tsx';
import { ListTable } from '../parts/list-table.tsx';
import { PausedTypes, UnhandledEvents } from '../parts/held-types.tsx';
import { eventHref, eventsHref } from '../parts/filter-fields.ts';
import { Time, rangeOf, Ranges, stepsOf } from '../parts/time.tsx';
import { WaitInBrief, WhyItWaits } from '../parts/why-it-waits.tsx';
import type { Screen, Visit } from '../visit.ts';
import { Headline, pausesToTell } from './overview-headline.tsx';
import { findStuck, type Stuck, type Waiting } from './stuck-events.ts';

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

/** Rates of failure and durations of each type beside those of before: whether the deployment broke it is one look. */
export function TypeChanges({
  changes,
  spans,
  isReleaseUnnamed,
}: {
  readonly changes: readonly TypeChange[];
  /** which spans these are, as in `since release 42 began, beside the 3 h before` */
  readonly spans: string;
  readonly isReleaseUnnamed: boolean;
}) {
  return (
    <section class="panel" id="types">
      <h2>By type</h2>
      {changes.length === 0 ? (
        <p class="muted">No handler ran in this period or in the one before it.</p>
      ) : (
        <>
          <p id="verdict">{verdict(changes)}</p>
          <Table
            changes={changes.slice(0, TYPES_SHOWN)}
            caption={`Handler runs ${spans}. Durations are upper bounds.`}
          />
          {changes.length > TYPES_SHOWN && (
            <details id="other-types">
              <summary>{plural(changes.length - TYPES_SHOWN, 'other type')}</summary>
              <Table changes={changes.slice(TYPES_SHOWN)} caption="The rest" />
            </details>
          )}
        </>
      )}
      {isReleaseUnnamed && (
        <p class="muted" id="no-release">
          To compare releases, set the option <code>release</code> of your receivers and processors, for example to a
          version or a commit hash.
        </p>
      )}
    </section>
  );
}

/** What is worse comes first, so the rest need not be seen at once. */
const TYPES_SHOWN = 5;

function Table({ changes, caption }: { readonly changes: readonly TypeChange[]; readonly caption: string }) {
  return (
    <ListTable columns={['type', 'runs', 'failed', 'dead', 'median']} caption={caption}>
      {changes.map((change) => (
        <Row change={change} />
      ))}
    </ListTable>
  );
}

function Row({ change }: { readonly change: TypeChange }) {
  const { type, before, after } = change;
  const { failures, durations } = comparisonOf(change);
  return (
    <tr>
      <th scope="row">
        {oneLine(type, 60)
          .split(/(?<=[._])/)
          .map((part, n) => (
            <>
              {n > 0 && <wbr />}
              {part}
            </>
          ))}
      </th>
      <td data-label="runs">{number(after.ended)}</td>
      <td data-label="failed">
        <Figure now={failedPart(after)} before={failedPart(before)} compared={failures} />
      </td>
      <td data-label="dead">{number(after.dead)}</td>
      <td data-label="median">
        <Figure now={latency(after.handlerMs.p50)} before={latency(before.handlerMs.p50)} compared={durations} />
      </td>
    </tr>
  );
}

function Figure({
  now,
  before,
  compared,
}: {
  readonly now: string;
  readonly before: string;
  readonly compared: Comparison;
}) {
  return (
    <>
      {compared === 'worse' ? <strong class="worse">{now} ▲</strong> : now}{' '}
      <span class="muted">{compared === 'too few' ? 'too few runs' : `was ${before}`}</span>
    </>
  );
}
