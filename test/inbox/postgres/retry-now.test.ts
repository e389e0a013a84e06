import { testRetryNow, type RetriedStore } from '../../ops/retry-now.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testRetryNow('retrying now in Postgres', async () => {
  const { open, bury } = schema();
  const inbox = closedAfter(await open());
  const store: RetriedStore = { inbox, notified: 0, bury };
  inbox.onPending(() => (store.notified += 1));
  return store;
});
