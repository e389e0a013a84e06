import type { RejectedDelivery } from '../../inbox/operator/counts.ts';
import { rejectedDeliveries, stats, type Stats } from '../../ops/stats.ts';
import { bytes, number, percent, plural } from '../../ops/words/format.ts';
import { rangeOf, rangeQuery, Ranges, Within, type Range } from '../parts/range.tsx';
import { ShortTime, StoredText } from '../parts/text.tsx';
import { causeOfRejection } from '../../ops/words/rejection-causes.ts';
import { eventsHref } from '../parts/filter-fields.ts';
import type { Screen, Visit } from '../visit.ts';
import { DataTable, Panel } from '../parts/list-table.tsx';

const SHOWN = 100;
/** The inbox keeps this many lines; those of a period and a reason may be anywhere among them. */
const KEPT = 1_000;

export async function rejectedScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const range = rangeOf(visit.url, visit.now);
  const only = visit.url.searchParams.get('reason');
  const [figures, latest] = await Promise.all([
    stats(inbox, { since: range.since, until: range.until, steps: 1 }),
    rejectedDeliveries(inbox, KEPT),
  ]);
  const rejections = latest.filter(
    ({ reason, firstAt, lastAt }) =>
      (only === null || reason === only) && lastAt >= range.since && firstAt < range.until,
  );
  return {
    title: 'Rejected',
    current: '/rejected',
    content: (
      <>
        <p>
          hookbox does not store rejected deliveries. It records the size and hash of a body, never the body or
          signature. Similar deliveries share a line. The latest 1,000 lines are kept.
        </p>
        <Ranges current={range} kept={only === null ? {} : { reason: only }} />
        <div id="live">
          {ratesPanel(figures, range, visit)}
          <Panel id="latest" title="Latest rejected deliveries">
            {only !== null && (
              <p id="only">
                Only deliveries rejected for{' '}
                <code>
                  <StoredText text={only} atMost={80} />
                </code>
                . <a href={`?range=${range.name}#latest`}>All reasons</a>
              </p>
            )}
            {rejections.length === 0 ? (
              <p class="notice" id="none">
                {only === null
                  ? 'No rejected deliveries in this period.'
                  : 'No deliveries were rejected for this reason in this period.'}
              </p>
            ) : (
              rejectionsTable(rejections, range, visit)
            )}
          </Panel>
        </div>
      </>
    ),
  };
}

function ratesPanel({ rejectedByReason, rejectionRate, totals }: Stats, range: Range, visit: Visit) {
  const reasons = Object.entries(rejectedByReason)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  return (
    <section class="panel" id="rates">
      <h2>
        <Within range={range} />
      </h2>
      {reasons.length === 0 ? (
        <p>No deliveries were rejected.</p>
      ) : (
        <>
          <p>
            {plural(totals.rejected, 'delivery was', 'deliveries were')} rejected ({percent(rejectionRate)} of all).
          </p>
          <DataTable
            id="reasons"
            rows={reasons}
            rowIs={([reason]) => ({ id: `reason-${reason}`, 'data-href': ofReason(reason, range) })}
            columns={[
              [
                'reason',
                ([reason]) => (
                  <a href={ofReason(reason, range)}>
                    <code>
                      <StoredText text={reason} atMost={80} />
                    </code>
                  </a>
                ),
              ],
              ['deliveries', ([, count]) => number(count), { 'data-label': 'deliveries', class: 'figures' }],
              ['share', ([, count]) => percent(count / totals.rejected), { 'data-label': 'share', class: 'figures' }],
              ['cause and what to do', ([reason]) => causeAndAdvice(reason, visit)],
            ]}
          />
        </>
      )}
    </section>
  );
}

function causeAndAdvice(reason: string, { operated }: Visit) {
  const { cause, advice } = causeOfRejection(reason, operated.inbox);
  return (
    <>
      <StoredText text={cause} /> <span class="muted">{advice}</span>
    </>
  );
}

function ofReason(reason: string, { name }: Range): string {
  return `${rangeQuery(name, { reason })}#latest`;
}

function rejectionsTable(rejections: readonly RejectedDelivery[], range: Range, visit: Visit) {
  const { base, now, operated } = visit;
  const shown = rejections.slice(0, SHOWN);
  const count = shown.reduce((sum, rejection) => sum + rejection.count, 0);
  const deliveries = plural(count, 'delivery', 'deliveries');
  return (
    <DataTable
      id="rejections"
      caption={
        rejections.length > shown.length
          ? `The latest ${number(shown.length)} lines, for ${deliveries}. Older lines exist.`
          : `${deliveries} in ${plural(shown.length, 'line')}.`
      }
      rows={shown}
      rowIs={({ seq, reason }) => ({ id: `rejection-${seq}`, 'data-href': ofReason(reason, range) })}
      columns={[
        [
          'cause',
          ({ reason }) => (
            <a href={ofReason(reason, range)}>
              <StoredText text={causeOfRejection(reason, operated.inbox).cause} />
            </a>
          ),
        ],
        ['times', ({ count: times }) => number(times), { 'data-label': 'times', class: 'figures' }],
        ['last', ({ lastAt }) => <ShortTime at={lastAt} now={now} />],
        ['first', ({ firstAt }) => <ShortTime at={firstAt} now={now} />],
        [
          'endpoint',
          ({ endpoint }) => (
            <a href={eventsHref(base, { endpoint })}>
              <StoredText text={endpoint} atMost={60} />
            </a>
          ),
        ],
        ['source', ({ source }) => (source === null ? 'unknown' : <StoredText text={source} atMost={80} />)],
        [
          'body',
          ({ seq, bytes: size, sha256 }) => (
            <>
              {size === null ? 'not read' : bytes(size)}
              {sha256 !== null && (
                <details id={`rejection-${seq}-hash`}>
                  <summary>SHA-256</summary>
                  <code class="hash">
                    <StoredText text={sha256} />
                  </code>
                </details>
              )}
            </>
          ),
        ],
      ]}
    />
  );
}
