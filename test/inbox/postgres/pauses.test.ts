import { testPauses } from '../../ops/pauses.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testPauses('pauses in Postgres', async () => {
  const { pool, t, open, join } = schema();
  const setAside = async () => {
    await pool.query(`UPDATE ${t.queue} SET parked = true, fresh = false`);
  };
  return { inbox: closedAfter(await open()), second: () => closedAfter(join()), setAside };
});
