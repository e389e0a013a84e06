import type { Child } from 'hono/jsx';
import { deadGroups } from '../../ops/find.ts';
import { pausedTypes } from '../../ops/pauses.ts';
import { stats, type Stats } from '../../ops/stats.ts';
import {
  comparisonOf,
  type Comparison,
  type TypeChange,
  changesOf,
  type Changes,
  failedPart,
  verdict,
} from '../../ops/releases.ts';
import { age, bounded, number, percent, plural, latency, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { LatencyChart } from '../charts/latency-chart.tsx';
import { OutcomesChart } from '../charts/outcomes-chart.tsx';
import { rangeOf, Ranges, stepsOf } from '../parts/range.tsx';
import { AtEndpoint, breaking, EntityName, Shortened, Time } from '../parts/text.tsx';
import { DataTable, type Column, Panel } from '../parts/list-table.tsx';
import { WaitInBrief, WhyItWaits, pausedPanel, unhandledPanel } from '../parts/waiting.tsx';
import { eventHref, eventsHref } from '../parts/filter-fields.ts';
import type { Screen, Visit } from '../visit.ts';
import { Headline, pausesToTell } from './overview-headline.tsx';
import { findStuck, type Stuck, type Waiting } from './stuck-events.ts';

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
  const reported = pausesToTell(pauses);
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
            <TypeChanges changes={changes} />
          </div>
          {tiles(visit, figures, range.label)}
          {/* The headline tells of the other pauses, and of types without a processor. */}
          {pausedPanel(
            visit,
            pauses.filter((pause) => !reported.includes(pause)),
          )}
          {unhandledPanel(visit, { ...figures.unhandled, waiting: [] })}
          {waitingLongest(visit, stuck)}
          <LatencyChart {...span} total={figures.answerMs} />
        </div>
      </>
    ),
  };
}

function tiles({ base, now }: Visit, { totals, now: standing, redeliveryRate, since }: Stats, rangeLabel: string) {
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
        `Received in ${rangeLabel}`,
        number(totals.stored),
        eventsHref(base, { since }),
        `and ${plural(totals.duplicate, 'redelivery', 'redeliveries')} (${percent(redeliveryRate)})`,
      )}
      {tile(
        'processed',
        `Processed in ${rangeLabel}`,
        number(totals.processed),
        eventsHref(base, { states: ['processed'], since }),
        `and ${plural(totals.failed, 'failed attempt')}`,
      )}
      {tile(
        'retrying',
        'Waiting for a retry',
        bounded(retrying),
        eventsHref(base, { states: ['pending'], retrying: true }),
        `of ${bounded(pending)} pending; ${bounded(processing)} being processed`,
      )}
      {tile('dead', 'Dead now', bounded(dead), `${base}/dead`, `${number(totals.dead)} died in ${rangeLabel}`)}
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

function waitingLongest({ base, now }: Visit, { waiting, more, causes, reported }: Stuck) {
  if (waiting.length === 0) return <></>;
  const allOf = ({ entity, oldest }: Waiting): string =>
    entity === null ? eventHref(base, oldest) : eventsHref(base, { endpoint: oldest.endpoint, entity });
  return (
    <Panel id="waiting" title="Waiting longest">
      <DataTable
        rows={waiting.slice(0, SHOWN)}
        rowIs={(one) => ({ id: `waiting-${one.oldest.seq}`, 'data-href': allOf(one) })}
        columns={[
          [
            'about',
            (one) => (
              <>
                <a href={allOf(one)}>
                  <EntityName name={one.entity ?? one.oldest.id} />
                </a>
                <AtEndpoint endpoint={one.oldest.endpoint} />
              </>
            ),
          ],
          // The inbox may have more events of it than were looked at.
          ['events', ({ count }) => bounded({ count, more })],
          [
            'oldest received',
            ({ oldest }) => (
              <a href={eventHref(base, oldest)}>
                <Time at={oldest.receivedAt} now={now} />
              </a>
            ),
          ],
          [
            'why',
            (one) => {
              const wait = causes.get(one)?.wait ?? null;
              if (reported.has(one)) return <WaitInBrief wait={wait} base={base} now={now} />;
              return <WhyItWaits event={one.oldest} wait={wait} base={base} now={now} />;
            },
          ],
        ]}
      />
      {(waiting.length > SHOWN || more) && (
        <p>
          <a href={eventsHref(base, { states: ['pending'] })}>All pending events</a>
        </p>
      )}
    </Panel>
  );
}

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
          {/* The worst come first, so the others are folded away. */}
          {typeTable(types.slice(0, SHOWN), `Handler runs ${spans}. Durations are upper bounds.`)}
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
  ['runs', ({ after }) => number(after.ended)],
  ['failed', (change) => compared(failedPart(change.after), failedPart(change.before), comparisonOf(change).failures)],
  ['dead', ({ after }) => number(after.dead)],
  [
    'median',
    (change) => {
      const { before, after } = change;
      return compared(latency(after.handlerMs.p50), latency(before.handlerMs.p50), comparisonOf(change).durations);
    },
  ],
];

function compared(now: string, before: string, comparison: Comparison) {
  return (
    <>
      {comparison === 'worse' ? <strong class="worse">{now} ▲</strong> : now}{' '}
      <span class="muted">{comparison === 'too few' ? 'too few runs' : `was ${before}`}</span>
    </>
  );
}
