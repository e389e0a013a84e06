import type { Inbox } from '../../inbox/contract.ts';
import type { RejectedDelivery } from '../../inbox/operator/counts.ts';
import { rejectedDeliveries, stats, type Stats } from '../../ops/stats.ts';
import { bytes, number, percent, plural } from '../../ops/words/format.ts';
import { rangeOf, Ranges, stepsOf } from '../parts/time-range.tsx';
import { causeOfRejection } from '../../ops/words/rejection-causes.ts';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time-and-age.tsx';
import type { Screen, Visit } from '../visit.ts';
import { ListTable } from '../parts/list-table.tsx';

const SHOWN = 100;

/** Deliveries that were not taken in: why, and what to do about it. */
export async function rejectedScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const range = rangeOf(visit.url, '24h');
  const [figures, rejections] = await Promise.all([
    stats(inbox, { ...stepsOf(range, visit.now), steps: 1 }),
    rejectedDeliveries(inbox, SHOWN),
  ]);
  return {
    title: 'Rejected',
    current: '/rejected',
    content: (
      <>
        <p>
          What was not taken in. Only the size and the hash of a body are kept, never the body or the signature; alike
          deliveries are one line, and only the latest thousand lines are kept.
        </p>
        <Ranges current={range} />
        <div id="live">
          <Rates figures={figures} rangeLabel={range.label} inbox={inbox} />
          <Latest rejections={rejections} now={visit.now} inbox={inbox} />
        </div>
      </>
    ),
  };
}

function Rates({
  figures: { rejectedByReason, rejectionRate, totals },
  rangeLabel,
  inbox,
}: {
  readonly figures: Stats;
  readonly rangeLabel: string;
  readonly inbox: Inbox;
}) {
  const reasons = Object.entries(rejectedByReason)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  return (
    <section class="panel" id="rates">
      <h2>In the last {rangeLabel}</h2>
      {reasons.length === 0 ? (
        <p>No delivery was rejected.</p>
      ) : (
        <>
          <p>
            {plural(totals.rejected, 'delivery was', 'deliveries were')} rejected: {percent(rejectionRate)} of all.
          </p>
          <ListTable columns={['reason', 'deliveries', 'of the rejected', 'what it means, and what to do']}>
            {reasons.map(([reason, count]) => (
              <tr id={`reason-${reason}`}>
                <th scope="row">
                  <code>
                    <StoredText text={reason} atMost={80} />
                  </code>
                </th>
                <td data-label="deliveries">{number(count)}</td>
                <td data-label="of the rejected">{percent(count / totals.rejected)}</td>
                <td data-label="what it means, and what to do">
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

function Latest({
  rejections,
  now,
  inbox,
}: {
  readonly rejections: readonly RejectedDelivery[];
  readonly now: Date;
  readonly inbox: Inbox;
}) {
  return (
    <section class="panel" id="latest">
      <h2>The latest</h2>
      {rejections.length === 0 ? (
        <p>No rejected delivery is kept.</p>
      ) : (
        <table class="list">
          {rejections.length >= SHOWN && <caption>The latest {number(SHOWN)}; there may be more.</caption>}
          <thead>
            <tr>
              <th scope="col">cause</th>
              <th scope="col">times</th>
              <th scope="col">last</th>
              <th scope="col">first</th>
              <th scope="col">endpoint</th>
              <th scope="col">source</th>
              <th scope="col">body</th>
            </tr>
          </thead>
          <tbody>
            {rejections.map((rejection) => (
              <RejectionRow rejection={rejection} now={now} cause={causeOfRejection(rejection.reason, inbox).cause} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function RejectionRow({
  rejection,
  now,
  cause,
}: {
  readonly rejection: RejectedDelivery;
  readonly now: Date;
  readonly cause: string;
}) {
  const { seq, count, firstAt, lastAt, endpoint, source, bytes: size, sha256 } = rejection;
  return (
    <tr id={`rejection-${seq}`}>
      <th scope="row">
        <StoredText text={cause} />
      </th>
      <td data-label="times">{number(count)}</td>
      <td data-label="last">
        <Time at={lastAt} now={now} />
      </td>
      <td data-label="first">
        <Time at={firstAt} now={now} />
      </td>
      <td data-label="endpoint">
        <StoredText text={endpoint} atMost={60} />
      </td>
      <td data-label="source">{source === null ? 'not known' : <StoredText text={source} atMost={80} />}</td>
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
