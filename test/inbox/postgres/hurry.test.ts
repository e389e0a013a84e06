import { testHurry, type HurriedStore } from '../../ops/hurry.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testHurry('hurrying in Postgres', async () => {
  const { open, bury } = schema();
  const inbox = closedAfter(await open());
  const store: HurriedStore = { inbox, notified: 0, bury };
  inbox.onPending(() => (store.notified += 1));
  return store;
});
