import { countsIn, stats, type SpanCounts, type Stats } from '../../ops/stats.ts';
import { deadGroups } from '../../ops/find.ts';
import { calmText, warningsOf, type Warning } from '../../ops/health.ts';
import { pausedTypes } from '../../ops/pauses.ts';
import { comparisonOf, type TypeChange, changesOf, type Changes, failedPart, verdict } from '../../ops/releases.ts';
import type { Child } from 'hono/jsx';
import { age, bounded, number, percent, plural, latency, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { LatencyChart } from '../charts/latency-chart.tsx';
import { hasOutcomes, OutcomesChart } from '../charts/outcomes-chart.tsx';
import { Icon } from '../parts/icon.tsx';
import { lastRange, type Range, rangeBackTo, rangeOf, Ranges } from '../parts/range.tsx';
import { breaking, Copyable, Shortened } from '../parts/text.tsx';
import { Notice, DataTable, type Column, Panel } from '../parts/list-table.tsx';
import { eventHref, eventsHref } from '../parts/filter-fields.ts';
import type { Screen, Visit } from '../visit.ts';
import { IncidentList } from './incident-list.tsx';
import { beginningOf, extentOf, levelOf, troublesOf } from './incidents.ts';
import { findStuck } from './stuck-events.ts';

/** Shows the incidents of the last day, whatever span the charts show. */
export async function overviewScreen(visit: Visit): Promise<Screen> {
  const { now, url, operated } = visit;
  const { inbox } = operated;
  const day = lastRange('24h', now);
  const [figures, groups, pauses] = await Promise.all([
    stats(inbox, { since: day.since, until: day.until, steps: day.steps }),
    deadGroups(inbox, now.getTime()),
    pausedTypes(inbox),
  ]);
  const { traffic, unhandled, processing } = figures;
  const [changes, stuck] = await Promise.all([
    changesOf(inbox, figures, day.label, now),
    findStuck(inbox, figures.now.oldest, now, [...pauses, ...unhandled.waiting]),
  ]);
  const watch = { traffic, unhandled, ...processing };
  const warnings = warningsOf(watch, inbox, now);
  const { dead } = figures.now;
  const { ignored, ignoredSince } = unhandled;
  const incidents = troublesOf({ dead, groups, warnings, changes, pauses, ignored, stuck }).map((trouble) => {
    return { trouble, extent: extentOf(trouble, figures, figures) };
  });
  const alarmed = incidents.filter(({ trouble }) => levelOf(trouble) !== 'paused');
  const range = rangeOf(url, now, rangeBackTo(beginningOf(alarmed.map(({ extent }) => extent)), now));
  const isDay = range.name === day.name;
  const counts = isDay
    ? figures
    : await countsIn(inbox, { since: range.since, until: range.until, steps: range.steps });
  const compared = isDay ? changes : await changesOf(inbox, counts, range.label, now);
  const isEmpty = traffic.all.lastReceived === null && figures.now.oldestPending === null && dead.count === 0;
  const span = { steps: counts.steps, stepMs: range.stepMs, now };
  return {
    title: 'Overview',
    tab: withDead(dead, 'Overview'),
    current: '/',
    content: (
      <div id="live">
        <section id="watch" aria-label="Incidents">
          {incidents.length > 0 ? (
            <IncidentList visit={visit} incidents={incidents} ignoredSince={ignoredSince} />
          ) : (
            !isEmpty && (
              <p class="calm" id="headline">
                <Icon name="done" />
                <span>All well: no event is dead, and none has been pending for more than a minute.</span>
              </p>
            )
          )}
          {isEmpty ? firstSteps(visit, figures) : vital(visit, figures, warnings, groups)}
        </section>
        <Ranges current={range} />
        {tiles(visit, figures, counts, range)}
        {hasOutcomes(counts.steps) ? (
          <>
            <div class="answers">
              <OutcomesChart {...span} base={visit.base} marks={compared.marks} />
              <TypeChanges changes={compared} />
            </div>
            <LatencyChart {...span} total={counts.answerMs} />
          </>
        ) : (
          <Notice id="no-outcomes">No delivery was received and no event was handled in this period.</Notice>
        )}
      </div>
    ),
  };
}

type Groups = Awaited<ReturnType<typeof deadGroups>>;

function vital({ base, now }: Visit, figures: Stats, warnings: readonly Warning[], groups: Groups) {
  const { totals, traffic, unhandled, processing } = figures;
  const deliveries = totals.stored + totals.duplicate + totals.rejected;
  const isRejecting = warnings.some(({ alarm, endpoint }) => alarm === 'rejecting' && endpoint === null);
  const known = groups.filter(({ open }) => !open);
  return (
    <p class="muted" id="vital">
      {calmText({ traffic, unhandled, ...processing }, now, warnings)}
      {!isRejecting && deliveries > 0 && (
        <>
          {' '}
          <a href={`${base}/rejected`}>
            {number(totals.rejected)} of {plural(deliveries, 'delivery', 'deliveries')}
          </a>{' '}
          {totals.rejected === 1 ? 'was' : 'were'} rejected in the last 24 h.
        </>
      )}
      {known.length > 0 && (
        <>
          {' '}
          <a href={`${base}/dead`}>{plural(known.length, 'group')} of dead events</a>{' '}
          {known.length === 1 ? 'is' : 'are'} acknowledged.
        </>
      )}
    </p>
  );
}

/** Live updates mark each step when it is done. */
function firstSteps({ base }: Visit, { processing, totals }: Stats) {
  const isStarted = processing.processors.length > 0;
  const step = (isDone: boolean, title: string, more: Child) => (
    <li class={isDone ? 'done' : undefined}>
      <strong>{title}</strong> {isDone && <span class="muted">(done)</span>}
      {more}
    </li>
  );
  return (
    <Panel id="first-steps" title="Waiting for the first event">
      <ol class="steps">
        {step(
          isStarted,
          'Start your receiver.',
          <p class="muted">
            {isStarted ? 'A processor is running.' : 'Call receiver.start() in your application, and run it.'}
          </p>,
        )}
        {step(
          totals.rejected > 0,
          'Register its URL in the dashboard of the Commerce Ordering Service.',
          totals.rejected > 0 ? (
            <p>
              <a href={`${base}/rejected`}>{plural(totals.rejected, 'delivery', 'deliveries')}</a> arrived and{' '}
              {totals.rejected === 1 ? 'was' : 'were'} rejected.
            </p>
          ) : (
            <p class="muted">
              Use the public URL of your webhook route. Give hookbox the signing secret that the dashboard shows.
            </p>
          ),
        )}
        {step(
          false,
          'Send an event.',
          <>
            <p class="muted">Place an order, or send a signed test event. This page shows the event when it arrives.</p>
            <Copyable text="npx hookbox trigger order.created --to http://localhost:3000/webhooks" />
          </>,
        )}
      </ol>
    </Panel>
  );
}

function tiles({ base, now }: Visit, { now: standing }: Stats, counts: SpanCounts, range: Range) {
  const { totals, redeliveryRate, since, until } = counts;
  const span = range.isLast ? { since } : { since, until };
  const inSpan = range.isLast ? `in ${range.label}` : 'in this period';
  const { oldestPending: oldest, dead, pending, processing, retrying } = standing;
  const tile = (id: string, name: string, figure: string, href: string, more: Child) => (
    <li class="tile" id={`tile-${id}`}>
      <a href={href}>
        <span class="name">{name}</span> <strong class="figure">{figure}</strong>
      </a>
      <span class="muted">{more}</span>
    </li>
  );
  return (
    <ul class="tiles" id="tiles">
      {tile(
        'received',
        `Received ${inSpan}`,
        number(totals.stored),
        eventsHref(base, span),
        `and ${plural(totals.duplicate, 'redelivery', 'redeliveries')} (${percent(redeliveryRate)})`,
      )}
      {tile(
        'processed',
        `Processed ${inSpan}`,
        number(totals.processed),
        eventsHref(base, { states: ['processed'], ...span }),
        `${number(totals.failed)} failed, to be retried`,
      )}
      {tile(
        'retrying',
        'Waiting for a retry',
        bounded(retrying),
        eventsHref(base, { states: ['pending'], retrying: true }),
        `of ${bounded(pending)} pending${processing.count === 0 ? '' : `, ${bounded(processing)} processing`}`,
      )}
      {tile('dead', 'Dead now', bounded(dead), `${base}/dead`, `${number(totals.dead)} died ${inSpan}`)}
      {tile(
        'oldest-pending',
        'Oldest pending',
        oldest === null ? 'none' : age(now.getTime() - oldest.since.getTime()),
        oldest === null ? eventsHref(base, { states: ['pending'] }) : eventHref(base, oldest),
        oldest === null ? 'no event is pending' : <Shortened text={oldest.id} atMost={22} />,
      )}
    </ul>
  );
}

const SHOWN = 5;

export function TypeChanges({
  changes: { types, spans, isReleaseUnnamed },
}: {
  readonly changes: Pick<Changes, 'types' | 'spans' | 'isReleaseUnnamed'>;
}) {
  const rest = types.length - SHOWN;
  return (
    <Panel id="types" title="By type">
      {types.length === 0 ? (
        <p class="muted">No handler ran in this period or in the one before it.</p>
      ) : (
        <>
          <p id="verdict">{verdict(types)}</p>
          {/* The worst types come first, and the others are folded. */}
          {typeTable(types.slice(0, SHOWN), `Handler runs ${spans}. Durations are rounded up.`)}
          {rest > 0 && (
            <details id="other-types">
              <summary>{plural(rest, 'other type')}</summary>
              {typeTable(types.slice(SHOWN), 'The rest')}
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
    </Panel>
  );
}

function typeTable(changes: readonly TypeChange[], caption: string) {
  return <DataTable rows={changes} columns={TYPE_COLUMNS} caption={caption} />;
}

const TYPE_COLUMNS: readonly Column<TypeChange>[] = [
  ['type', ({ type }) => breaking(oneLine(type, 60), /(?<=[._])/)],
  ['runs', ({ after }) => number(after.ended), { 'data-label': 'runs', class: 'figures' }],
  ['failed', (change) => compared(change, failedPart(change.after), failedPart(change.before), 'failures')],
  ['dead', ({ after }) => number(after.dead), { 'data-label': 'dead', class: 'figures' }],
  [
    'median',
    (change) => {
      const { before, after } = change;
      return compared(change, latency(after.handlerMs.p50), latency(before.handlerMs.p50), 'durations');
    },
  ],
];

function compared(change: TypeChange, now: string, before: string, what: 'failures' | 'durations') {
  const comparison = comparisonOf(change)[what];
  const few = change.before.ended === 0 ? 'no earlier runs' : 'too few runs to compare';
  return (
    <>
      {comparison === 'worse' ? <strong class="worse">{now} ▲</strong> : now}{' '}
      <span class="muted">{comparison === 'too few' ? few : `was ${before}`}</span>
    </>
  );
}
