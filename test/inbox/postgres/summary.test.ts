import { testSummaries } from '../../ops/summary.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testSummaries('summaries in Postgres', async () => {
  const { open, bury } = schema();
  return { inbox: closedAfter(await open()), bury };
});
