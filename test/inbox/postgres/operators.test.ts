// @module-tag postgres
// @module-tag dear
/** These suites need only an inbox. */
import { describe, expect, it } from 'vitest';
import { testAudit } from '../../ops/audit.conformance.ts';
import { testFindingByText } from '../../ops/find-by-text.conformance.ts';
import { testFinding } from '../../ops/find.conformance.ts';
import { testPauses } from '../../ops/pauses.conformance.ts';
import { testRejected } from '../../ops/rejected.conformance.ts';
import { testRetryNow, type RetriedStore } from '../../ops/retry-now.conformance.ts';
import { testStoredEvents } from '../../ops/stored-events.conformance.ts';
import { testSummaries } from '../../ops/summary.conformance.ts';
import { testTraffic } from '../../ops/traffic.conformance.ts';
import { testWaits } from '../../ops/waits.conformance.ts';
import { testBreakers } from '../../processing/breakers.conformance.ts';
import { testHandlersPause } from '../../processing/handlers-pause.conformance.ts';
import { testSupersededEvents } from '../../ops/superseded-events.conformance.ts';
import { testManyLanes } from '../../processing/many-lanes.conformance.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { closedAfter, operatedInboxes, searchedSchema } from './operators.ts';

const schema = operatedInboxes();
const opened = async () => closedAfter(await schema().open());

testAudit('the audit in Postgres', opened);
testFinding('an event in Postgres', () => searchedSchema(schema()));
testFindingByText('events in Postgres', () => searchedSchema(schema()));
testWaits('why an event waits in Postgres', () => searchedSchema(schema()));
testStoredEvents('in Postgres', () => schema().open());
testTraffic('what comes in at an inbox in Postgres', opened);
testSummaries('summaries in Postgres', async () => ({ inbox: await opened(), bury: schema().bury }));

testPauses('pauses in Postgres', async () => {
  const { pool, t, join } = schema();
  const setAside = async () => {
    await pool.query(`UPDATE ${t.queue} SET parked = true, fresh = false`);
  };
  return { inbox: await opened(), second: () => closedAfter(join()), setAside };
});

testRejected('rejected deliveries in Postgres', async () => {
  const { pool, t } = schema();
  return { inbox: await opened(), rows: async () => (await pool.query(`SELECT * FROM ${t.rejected}`)).rows };
});

testRetryNow('retrying now in Postgres', async () => {
  const inbox = await opened();
  const store: RetriedStore = { inbox, notified: 0, bury: schema().bury };
  inbox.onPending(() => (store.notified += 1));
  return store;
});

describe('very many types in Postgres:', { timeout: 60_000 }, () => {
  testManyLanes(opened);
});

describe('a handler pauses its type, in Postgres:', () => {
  testHandlersPause(opened);
});

describe('superseded events in Postgres:', () => {
  testSupersededEvents(opened);
});

describe('the breaker of a type, in Postgres:', () => {
  testBreakers(opened, 8);

  it('of several machines that claim at once, one begins the probe', async () => {
    const first = await opened();
    const machines = [first, ...Array.from({ length: 3 }, () => closedAfter(schema().join()))];
    const request = { endpoints: '*', types: '*', ordered: true, leaseMs: 60_000 } as const;
    await store(first, ...Array.from({ length: 12 }, (_, n) => orderEvent(`evt_${n}`)));
    const failing = (now: number, isProbe: boolean) => {
      const error = { name: 'Error', message: 'down', stack: null };
      return { outcome: 'retry', error, dueAt: now, breaker: { limit: 1, probeMs: 1_000, isProbe } } as const;
    };
    const [one] = await first.claim({ ...request, now: START }, 1);
    if (one !== undefined) await first.settle(one.lease, failing(START, false), START);
    for (let now = START + 1_000; now < START + 25_000; now += 1_000) {
      const claimed = (await Promise.all(machines.map((inbox) => inbox.claim({ ...request, now }, 5)))).flat();
      expect(claimed).toHaveLength(1);
      for (const { lease } of claimed) await first.settle(lease, failing(now, true), now);
    }
  });
});
