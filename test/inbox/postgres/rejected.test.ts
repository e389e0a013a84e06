import { testRejected } from '../../ops/rejected.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testRejected('rejected deliveries in Postgres', async () => {
  const { pool, t, open } = schema();
  return {
    inbox: closedAfter(await open()),
    rows: async () => (await pool.query(`SELECT * FROM ${t.rejected}`)).rows,
  };
});
