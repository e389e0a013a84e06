import type { AnyInbox } from '../../inbox/contract.ts';
import type { RejectedDelivery } from '../../inbox/operator/counts.ts';
import { rejectedDeliveries, stats, type Stats } from '../../ops/stats.ts';
import { bytes, number, percent, plural } from '../../ops/words/format.ts';
import { rangeOf, rangeQuery, Ranges, stepsOf, type Range, Time } from '../parts/time.tsx';
import { causeOfRejection } from '../../ops/words/rejection-causes.ts';
import { eventsHref } from '../parts/filter-fields.ts';
import { StoredText } from '../parts/stored-text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { ListTable } from '../parts/list-table.tsx';

const SHOWN = 100;
/** As many lines as are kept: those of one reason are found among them. */
const KEPT = 1_000;

/** Deliveries that were not taken in: why, and what to do about it. */
export async function rejectedScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const range = rangeOf(visit.url, '24h');
  const only = visit.url.searchParams.get('reason');
  const [figures, latest] = await Promise.all([
    stats(inbox, { ...stepsOf(range, visit.now), steps: 1 }),
    rejectedDeliveries(inbox, only === null ? SHOWN + 1 : KEPT),
  ]);
  const rejections = only === null ? latest : latest.filter(({ reason }) => reason === only);
  return {
    title: 'Rejected',
    current: '/rejected',
    content: (
      <>
        <p>
          Rejected deliveries are not stored. hookbox records the size and hash of a body, never the body or signature.
          Similar deliveries share a line. The latest thousand lines are kept.
        </p>
        <Ranges current={range} kept={only === null ? {} : { reason: only }} />
        <div id="live">
          <Rates figures={figures} range={range} inbox={inbox} />
          <Latest rejections={rejections} only={only} range={range} visit={visit} />
        </div>
      </>
    ),
  };
}

function Rates({
  figures: { rejectedByReason, rejectionRate, totals },
  range,
  inbox,
}: {
  readonly figures: Stats;
  readonly range: Range;
  readonly inbox: AnyInbox;
}) {
  const reasons = Object.entries(rejectedByReason)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  return (
    <section class="panel" id="rates">
      <h2>In the last {range.label}</h2>
      {reasons.length === 0 ? (
        <p>No deliveries were rejected.</p>
      ) : (
        <>
          <p>
            {plural(totals.rejected, 'delivery was', 'deliveries were')} rejected ({percent(rejectionRate)} of all).
          </p>
          <ListTable id="reasons" columns={['reason', 'deliveries', 'share', 'cause and what to do']}>
            {reasons.map(([reason, count]) => (
              <tr id={`reason-${reason}`} data-href={ofReason(reason, range)}>
                <th scope="row">
                  <a href={ofReason(reason, range)}>
                    <code>
                      <StoredText text={reason} atMost={80} />
                    </code>
                  </a>
                </th>
                <td data-label="deliveries">{number(count)}</td>
                <td data-label="share">{percent(count / totals.rejected)}</td>
                <td data-label="cause and what to do">
                  <CauseAndAdvice {...causeOfRejection(reason, inbox)} />
                </td>
              </tr>
            ))}
          </ListTable>
        </>
      )}
    </section>
  );
}

/** The lines of one reason, below. */
function ofReason(reason: string, { name }: Range): string {
  return `${rangeQuery(name, { reason })}#latest`;
}

interface LatestParts {
  readonly rejections: readonly RejectedDelivery[];
  /** the reason that is asked for */
  readonly only: string | null;
  readonly range: Range;
  readonly visit: Visit;
}

function Latest(parts: LatestParts) {
  const { rejections, only, range } = parts;
  return (
    <section class="panel" id="latest">
      <h2>Latest rejected deliveries</h2>
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
          {only === null ? 'No rejected deliveries.' : 'No deliveries were rejected for this reason.'}
        </p>
      ) : (
        <LatestTable {...parts} />
      )}
    </section>
  );
}

const COLUMNS = ['cause', 'times', 'last', 'first', 'endpoint', 'source', 'body'];

function LatestTable({ rejections, range, visit }: LatestParts) {
  const shown = rejections.slice(0, SHOWN);
  return (
    <ListTable id="rejections" columns={COLUMNS} caption={counted(shown, rejections.length > shown.length)}>
      {shown.map((rejection) => (
        <RejectionRow rejection={rejection} range={range} visit={visit} />
      ))}
    </ListTable>
  );
}

/** How many deliveries are listed, and whether there are others. */
function counted(shown: readonly RejectedDelivery[], more: boolean): string {
  const deliveries = plural(
    shown.reduce((sum, { count }) => sum + count, 0),
    'delivery',
    'deliveries',
  );
  if (more) return `The latest ${number(shown.length)} lines, for ${deliveries}. Older lines exist.`;
  return `${deliveries} in ${plural(shown.length, 'line')}.`;
}

function RejectionRow({
  rejection,
  range,
  visit: { base, now, operated },
}: {
  readonly rejection: RejectedDelivery;
  readonly range: Range;
  readonly visit: Visit;
}) {
  const { seq, reason, count, firstAt, lastAt, endpoint, source, bytes: size, sha256 } = rejection;
  const href = ofReason(reason, range);
  return (
    <tr id={`rejection-${seq}`} data-href={href}>
      <th scope="row">
        <a href={href}>
          <StoredText text={causeOfRejection(reason, operated.inbox).cause} />
        </a>
      </th>
      <td data-label="times">{number(count)}</td>
      <td data-label="last">
        <Time at={lastAt} now={now} />
      </td>
      <td data-label="first">
        <Time at={firstAt} now={now} />
      </td>
      <td data-label="endpoint">
        <a href={eventsHref(base, { endpoint })}>
          <StoredText text={endpoint} atMost={60} />
        </a>
      </td>
      <td data-label="source">{source === null ? 'unknown' : <StoredText text={source} atMost={80} />}</td>
      <td data-label="body">
        {size === null ? 'not read' : bytes(size)}
        {sha256 !== null && (
          <details id={`rejection-${seq}-hash`}>
            <summary>SHA-256</summary>
            <code class="hash">
              <StoredText text={sha256} />
            </code>
          </details>
        )}
      </td>
    </tr>
  );
}

function CauseAndAdvice({ cause, advice }: ReturnType<typeof causeOfRejection>) {
  return (
    <>
      <StoredText text={cause} /> <span class="muted">{advice}</span>
    </>
  );
}
