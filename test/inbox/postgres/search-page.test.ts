// @module-tag longest
import { storeOn } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { noteOutOfOrder } from '../../../src/inbox/operator/finding/indexes.ts';
import { rowsIn } from '../../../src/inbox/postgres/operator/access.ts';
import { SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { testSearchPage } from '../../ops/search-page.conformance.ts';
import { operatedInboxes } from './operators.ts';
import { forgetIndex } from './planted.ts';

const schema = operatedInboxes();

testSearchPage('a page in Postgres', async () => {
  const { pool, t, name, open } = schema();
  const inbox = await open();
  const queue = (where: string, columns = 'fresh', values = 'false') =>
    pool.query(
      `INSERT INTO ${t.queue} (seq, endpoint, type, entity, slot, created_ms, created_ns, due_ms, ${columns})
       SELECT seq, endpoint, type, entity, slot, created_ms, created_ns, 0, ${values} FROM ${t.events} WHERE ${where}`,
    );
  const shelve = (where: string) =>
    pool.query(
      `INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms)
       SELECT seq, 'dead', 'failed', endpoint, type, 1, 0 FROM ${t.events} WHERE ${where}`,
    );
  return {
    inbox,
    async plant(count, as = 'processed') {
      await pool.query(`
        INSERT INTO ${t.events} (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body)
        SELECT 'default', 'evt_' || n, CASE n % 4000 WHEN 1 THEN 'order.failed' ELSE 'order.ready' END, 0, 0,
          'order::ord_' || (n % 7000), 0, true, ${START} + n * 1000, convert_to('{"data":{"n":' || n || '}}', 'UTF8')
        FROM generate_series(1, ${count}) AS n ORDER BY n`);
      await forgetIndex(pool, t);
      // These rows prove that the events were processed.
      await pool.query(
        `INSERT INTO ${t.attempts} (seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable)
         SELECT seq, 1, 'auto', 'processed', 1, endpoint, received_ms, received_ms, $1 FROM ${t.events}`,
        [as === 'processed' || as === 'some dead'],
      );
      if (as === 'ready') await queue('true');
      if (as === 'fresh') await queue('true', 'fresh', 'true');
      if (as === 'dead') await shelve('true');
      if (as === 'some dead') await shelve('seq % 5000 = 0');
    },
    async stand(seq, as) {
      const where = `seq = ${seq}`;
      if (as === 'retrying') await queue(where, 'fresh, failures', 'false, 1');
      if (as === 'parked') await queue(where, 'fresh, parked', 'false, true');
      if (as === 'processing') await queue(where, 'fresh, lease_until_ms, claimed_ms', 'false, 1, 1');
    },
    async receiveAt(ms, where) {
      await pool.query(`UPDATE ${t.events} SET received_ms = ${ms} WHERE ${where}`);
    },
    async receivedWithin(since, until) {
      const { rows } = await pool.query<{ id: string }>(
        `SELECT id FROM ${t.events} WHERE received_ms >= $1 AND received_ms < $2 ORDER BY seq DESC`,
        [since.getTime(), until.getTime()],
      );
      return rows.map(({ id }) => id);
    },
    async noteOutOfOrder(first, last) {
      const { database } = storeOn({ pool }, { ...SETTINGS, schema: name });
      await database.transaction({
        work: (session) => noteOutOfOrder({ rows: rowsIn(session) }, { t }, first, last),
      });
    },
    [Symbol.asyncDispose]: () => inbox.close(),
  };
});
