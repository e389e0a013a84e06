import { messageOf } from '../../errors.ts';
import type { AnyInbox } from '../../inbox/contract.ts';
import { readiness, typesText } from '../../ops/health.ts';
import type { Processing } from '../../ops/watch.ts';
import { stats, type Stats } from '../../ops/stats.ts';
import { age, bounded, latency, percent, plural } from '../../ops/words/format.ts';
import { VERSION } from '../../version.ts';
import { DataTable, Facts, Panel } from '../parts/list-table.tsx';
import { StoredText, Time } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { unhandledPanel, linkTo } from '../parts/waiting.tsx';

export async function healthScreen(visit: Visit): Promise<Screen> {
  const { base, now, operated } = visit;
  const [ready, figures] = await Promise.all([readiness(operated.inbox), figuresOf(operated.inbox, now)]);
  const link = (path: string) => <a href={`${base}${path}`}>{path}</a>;
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
          {ready.ready && ready.warnings.length > 0 && (
            <div class="warning" id="warnings">
              <ul>
                {ready.warnings.map(({ text }) => (
                  <li>
                    <StoredText text={text} />
                  </li>
                ))}
              </ul>
            </div>
          )}
          <Panel id="standing" title="Status">
            {'problem' in figures ? (
              <p class="warning">
                The inbox cannot be read: <StoredText text={figures.problem} atMost={500} />
              </p>
            ) : (
              standingOf(figures, visit)
            )}
          </Panel>
          {!('problem' in figures) && (
            <>
              {unhandledPanel(visit, figures.unhandled)}
              {processorsPanel(figures.processing, now)}
            </>
          )}
        </div>
        <Panel title="Monitoring endpoints">
          <Facts
            facts={[
              [link('/health/live'), 'Returns 200 while the process runs. Requires no login.'],
              [
                link('/health/ready'),
                <>
                  Returns 200 if a delivery can be stored, otherwise 503; <code>warnings</code> lists problems. Requires
                  no login.
                </>,
              ],
              [link('/metrics'), 'Returns Prometheus metrics. Requires a login.'],
            ]}
          />
        </Panel>
        <Panel title="This process">
          <Facts
            facts={[
              ['hookbox', VERSION],
              ['Node.js', process.versions.node],
              ['running for', age(process.uptime() * 1_000)],
            ]}
          />
        </Panel>
      </>
    ),
  };
}

/** This screen must also work for an inbox that cannot be read. */
async function figuresOf(inbox: AnyInbox, now: Date): Promise<Stats | { readonly problem: string }> {
  try {
    return await stats(inbox, { since: new Date(now.getTime() - 3_600_000), until: now, steps: 1 });
  } catch (failure) {
    return { problem: messageOf(failure) };
  }
}

function standingOf(
  { now: standing, answerMs, handlerMs, rejectionRate, totals, traffic }: Stats,
  { base, now }: Visit,
) {
  const { pending, processing, retrying, dead, oldestPending } = standing;
  const times = ({ count, p50, p99 }: Stats['answerMs'], what: string): string =>
    count === 0 ? 'none' : `p50 ${latency(p50)}, p99 ${latency(p99)}, for ${what}`;
  const service = answerMs.count === 0 ? '' : '; the service times out after 10 s';
  return (
    <Facts
      facts={[
        [
          'oldest pending',
          oldestPending === null ? (
            'none'
          ) : (
            <>
              {linkTo(oldestPending, base, 80)}, received <Time at={oldestPending.receivedAt} now={now} />
            </>
          ),
        ],
        [
          'last received',
          <>
            {traffic.all.lastReceived === null ? 'never' : <Time at={traffic.all.lastReceived} now={now} />}
            {traffic.endpoints.map(({ endpoint, lastReceived }) => (
              <>
                {'; at '}
                <StoredText text={endpoint ?? ''} atMost={80} />{' '}
                {lastReceived === null ? 'nothing recently' : <Time at={lastReceived} now={now} />}
              </>
            ))}
          </>,
        ],
        [
          'events now',
          `${bounded(pending)} pending (${bounded(retrying)} of them waiting for a retry), ${bounded(processing)} being ` +
            `processed, ${bounded(dead)} dead`,
        ],
        ['response latency, last hour', times(answerMs, plural(answerMs.count, 'delivery', 'deliveries')) + service],
        ['handler duration, last hour', times(handlerMs, plural(handlerMs.count, 'run'))],
        [
          'rejected, last hour',
          <>
            <a href={`${base}/rejected?range=1h`}>{plural(totals.rejected, 'delivery', 'deliveries')}</a> (
            {percent(rejectionRate)})
          </>,
        ],
      ]}
    />
  );
}

function processorsPanel({ processors, missing }: Processing, now: Date) {
  return (
    <Panel id="processors" title="Processors">
      {missing.map(({ endpoint, types, since }) => (
        <p class="warning">
          No processor for <StoredText text={typesText(types)} />
          {endpoint !== '*' && (
            <>
              {' at '}
              <StoredText text={endpoint} atMost={80} />
            </>
          )}{' '}
          has run since <Time at={since} now={now} />.
        </p>
      ))}
      {processors.length === 0 ? (
        <p>
          No processor is running. In inline mode, none is needed. A processor appears here within a second of its
          start.
        </p>
      ) : (
        <DataTable
          rows={processors}
          columns={[
            ['process', ({ name }) => <StoredText text={name} atMost={40} />],
            [
              'endpoints',
              ({ endpoints }) => <StoredText text={endpoints === '*' ? 'all' : endpoints.join(', ')} atMost={160} />,
            ],
            [
              'handles',
              ({ types }) => (
                <StoredText
                  text={types === '*' ? 'all types' : types.length === 0 ? 'nothing' : types.join(', ')}
                  atMost={400}
                />
              ),
            ],
            ['started', ({ startedAt }) => <Time at={startedAt} now={now} />],
            ['last seen', ({ seenAt }) => <Time at={seenAt} now={now} />],
          ]}
        />
      )}
    </Panel>
  );
}
