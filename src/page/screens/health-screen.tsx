import { messageOf } from '../../errors.ts';
import type { AnyInbox } from '../../inbox/contract.ts';
import type { RunningProcessor } from '../../inbox/work.ts';
import { readiness, type Readiness, typesText } from '../../ops/health.ts';
import type { Processing } from '../../ops/watch.ts';
import { stats, type Stats } from '../../ops/stats.ts';
import { age, bounded, latency, percent, plural } from '../../ops/words/format.ts';
import { VERSION } from '../../version.ts';
import { eventHref } from '../parts/filter-fields.ts';
import { UnhandledEvents } from '../parts/held-types.tsx';
import { ListTable } from '../parts/list-table.tsx';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time.tsx';
import type { Screen, Visit } from '../visit.ts';

/** Whether deliveries can be stored now, and what to ask for from outside. */
export async function healthScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const [ready, figures] = await Promise.all([readiness(inbox), figuresOf(inbox, visit.now)]);
  return {
    title: 'Health',
    current: '/health',
    content: (
      <>
        <div id="live">
          {ready.ready ? (
            <p class="notice" id="ready">
              <strong>Ready:</strong> a test write just succeeded.
            </p>
          ) : (
            <p class="warning" id="ready">
              <strong>Not ready:</strong> the inbox cannot store deliveries. The service will send them again.{' '}
              <StoredText text={ready.why} atMost={500} />
            </p>
          )}
          <Warnings ready={ready} />
          <section class="panel" id="standing">
            <h2>Status</h2>
            {'problem' in figures ? (
              <p class="warning">
                The inbox cannot be read: <StoredText text={figures.problem} atMost={500} />
              </p>
            ) : (
              <Standing figures={figures} visit={visit} />
            )}
          </section>
          {'problem' in figures ? (
            <></>
          ) : (
            <>
              <UnhandledEvents visit={visit} unhandled={figures.unhandled} />
              <ProcessorsPanel processing={figures.processing} now={visit.now} />
            </>
          )}
        </div>
        <section class="panel">
          <h2>Monitoring endpoints</h2>
          <dl class="facts">
            <div>
              <dt>
                <a href={`${visit.base}/health/live`}>/health/live</a>
              </dt>
              <dd>Returns 200 while the process runs. Requires no login.</dd>
            </div>
            <div>
              <dt>
                <a href={`${visit.base}/health/ready`}>/health/ready</a>
              </dt>
              <dd>
                Returns 200 if a delivery can be stored, otherwise 503; <code>warnings</code> lists problems. Requires
                no login.
              </dd>
            </div>
            <div>
              <dt>
                <a href={`${visit.base}/metrics`}>/metrics</a>
              </dt>
              <dd>Returns Prometheus metrics. Requires a login.</dd>
            </div>
          </dl>
        </section>
        <section class="panel">
          <h2>This process</h2>
          <dl class="facts">
            <div>
              <dt>hookbox</dt>
              <dd>{VERSION}</dd>
            </div>
            <div>
              <dt>Node.js</dt>
              <dd>{process.versions.node}</dd>
            </div>
            <div>
              <dt>running for</dt>
              <dd>{age(process.uptime() * 1_000)}</dd>
            </div>
          </dl>
        </section>
      </>
    ),
  };
}

/** What is to be seen to, although deliveries can be stored. */
function Warnings({ ready }: { readonly ready: Readiness }) {
  if (!ready.ready || ready.warnings.length === 0) return <></>;
  return (
    <div class="warning" id="warnings">
      <ul>
        {ready.warnings.map(({ text }) => (
          <li>
            <StoredText text={text} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** An inbox that cannot be read is what this screen is there for, so it must not fail with it. */
async function figuresOf(inbox: AnyInbox, now: Date): Promise<Stats | { readonly problem: string }> {
  try {
    return await stats(inbox, { since: new Date(now.getTime() - 3_600_000), until: now, steps: 1 });
  } catch (failure) {
    return { problem: messageOf(failure) };
  }
}

function Standing({
  figures: { now: standing, answerMs, handlerMs, rejectionRate, totals, traffic },
  visit: { base, now },
}: {
  readonly figures: Stats;
  readonly visit: Visit;
}) {
  const { pending, processing, retrying, dead, oldestPending } = standing;
  return (
    <dl class="facts">
      <div>
        <dt>oldest pending</dt>
        <dd>
          {oldestPending === null ? (
            'none'
          ) : (
            <>
              <a href={eventHref(base, oldestPending)}>
                <StoredText text={oldestPending.id} atMost={80} />
              </a>
              , received <Time at={oldestPending.receivedAt} now={now} />
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>last received</dt>
        <dd>
          {traffic.all.lastReceived === null ? 'never' : <Time at={traffic.all.lastReceived} now={now} />}
          {traffic.endpoints.map(({ endpoint, lastReceived }) => (
            <>
              {'; at '}
              <StoredText text={endpoint ?? ''} atMost={80} />{' '}
              {lastReceived === null ? 'nothing recently' : <Time at={lastReceived} now={now} />}
            </>
          ))}
        </dd>
      </div>
      <div>
        <dt>events now</dt>
        <dd>
          {bounded(pending)} pending ({bounded(retrying)} of them waiting for a retry), {bounded(processing)} being
          processed, {bounded(dead)} dead
        </dd>
      </div>
      <div>
        <dt>response time, last hour</dt>
        <dd>
          {answerMs.count === 0
            ? 'none'
            : `p50 ${latency(answerMs.p50)}, p99 ${latency(answerMs.p99)}, for ${plural(answerMs.count, 'delivery', 'deliveries')}; ` +
              `the service times out after 10 s`}
        </dd>
      </div>
      <div>
        <dt>handler time, last hour</dt>
        <dd>
          {handlerMs.count === 0
            ? 'none'
            : `p50 ${latency(handlerMs.p50)}, p99 ${latency(handlerMs.p99)}, for ${plural(handlerMs.count, 'run')}`}
        </dd>
      </div>
      <div>
        <dt>rejected, last hour</dt>
        <dd>
          <a href={`${base}/rejected?range=1h`}>{plural(totals.rejected, 'delivery', 'deliveries')}</a> (
          {percent(rejectionRate)})
        </dd>
      </div>
    </dl>
  );
}

/** The processors that run, what they handle, and since when. */
function ProcessorsPanel({ processing, now }: { readonly processing: Processing; readonly now: Date }) {
  const { processors, missing } = processing;
  return (
    <section class="panel" id="processors">
      <h2>Processors</h2>
      {missing.map(({ endpoint, types, since }) => (
        <p class="warning">
          No processor for <StoredText text={typesText(types)} />
          {endpoint === '*' ? '' : ' at '}
          {endpoint === '*' ? <></> : <StoredText text={endpoint} atMost={80} />} has run since{' '}
          <Time at={since} now={now} />.
        </p>
      ))}
      {processors.length === 0 ? (
        <p>
          No processor is running. In inline mode, none is needed. A processor appears here within a second of its
          start.
        </p>
      ) : (
        <ListTable columns={['process', 'endpoints', 'handles', 'started', 'last seen']}>
          {processors.map((processor) => (
            <ProcessorRow processor={processor} now={now} />
          ))}
        </ListTable>
      )}
    </section>
  );
}

function ProcessorRow({ processor, now }: { readonly processor: RunningProcessor; readonly now: Date }) {
  const { name, endpoints, types, startedAt, seenAt } = processor;
  return (
    <tr>
      <th scope="row">
        <StoredText text={name} atMost={40} />
      </th>
      <td data-label="endpoints">
        <StoredText text={endpoints === '*' ? 'all' : endpoints.join(', ')} atMost={160} />
      </td>
      <td data-label="handles">
        <StoredText
          text={types === '*' ? 'all types' : types.length === 0 ? 'nothing' : types.join(', ')}
          atMost={400}
        />
      </td>
      <td data-label="started">
        <Time at={startedAt} now={now} />
      </td>
      <td data-label="last seen">
        <Time at={seenAt} now={now} />
      </td>
    </tr>
  );
}
