// node shop-file.ts FILE COUNT: a file as a shop has it after a while, written straight into the tables, because a million
// deliveries would take minutes: one event in a hundred is dead, in ten groups, and few others are on their way. Prints a
// line of JSON.
import Database from 'better-sqlite3';
import { sqliteInbox } from 'hookbox/sqlite';

const [file = '', argument = '0'] = process.argv.slice(2);
const count = Number(argument);
/** Few or many, they come from the same month. */
const MONTH_MS = 30 * 24 * 3_600_000;

const database = new Database(file);
// It makes the tables, and the function by which ids are hashed on this connection.
await sqliteInbox({ database }, { thread: false }).close();
database.pragma('synchronous = OFF');
database.transaction(() => {
  database
    .prepare(
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :count),
       shop AS MATERIALIZED (
         SELECT n, :now - ${MONTH_MS} * (:count - n) / :count AS at, lower(hex(randomblob(16))) AS random,
           CASE WHEN n % 100 = 7 THEN 'dead' WHEN n > :count - 20 THEN 'pending' ELSE 'processed' END AS state,
           CASE n % 5 WHEN 0 THEN 'order.ready' WHEN 1 THEN 'order.completed' WHEN 2 THEN 'inventory.low_stock'
             WHEN 3 THEN 'cart.abandoned' ELSE 'order.created' END AS type
         FROM n
       )
       INSERT INTO hookbox_events
         (seq, endpoint, id, id_hash, type, created_ms, created_ns, entity, verified, state, dead_reason, received_ms, settled_ms,
          due_ms, attempts, failures, fingerprint, body)
       SELECT n, 'default', 'evt_' || random, hookbox_id_hash('evt_' || random), type, at, 0, 'order:mer_' || (n % 50) || ':ord_' || (n / 3), 1, state,
         iif(state = 'dead', 'failed', NULL), at, iif(state = 'pending', NULL, at + 40), at,
         iif(state = 'pending', iif(n % 2, 1, 0), 1), iif(state = 'dead' OR (state = 'pending' AND n % 2), 1, 0),
         iif(state = 'dead', 'group' || (n / 100 % 10), NULL),
         CAST(json_object('id', 'evt_' || random, 'type', type, 'created', '2026-01-01T00:00:00Z', 'data', json_object(
           'object', 'order', 'id', 'ord_' || (n / 3), 'merchant_id', 'mer_' || (n % 50), 'total', n % 97 + 0.5,
           'currency', 'USD', 'note', random || random || random)) AS BLOB)
       FROM shop`,
    )
    .run({ count, now: Date.now() });
  database.exec(`
    INSERT INTO hookbox_attempts (seq, number, trigger, outcome, started_ms, ended_ms, error_name, error_message)
    SELECT seq, 1, 'auto', iif(state = 'processed', 'processed', 'failed'), received_ms, received_ms + 40,
      iif(state = 'processed', NULL, 'Error'), iif(state = 'processed', NULL, 'the till did not answer for ' || id)
    FROM hookbox_events WHERE attempts > 0;
    INSERT INTO hookbox_redeliveries (seq, count, first_ms, last_ms, recent)
    SELECT seq, 1, received_ms, received_ms, json_array(received_ms) FROM hookbox_events WHERE seq % 50 = 3;
    INSERT INTO hookbox_conflicts (seq, count, first_ms, last_ms, recent, body)
    SELECT seq, 1, received_ms, received_ms, json_array(received_ms), body FROM hookbox_events WHERE seq % 100 = 3;
    INSERT INTO hookbox_counts (minute_ms, what, detail, count)
    SELECT received_ms / 60000 * 60000, iif(state = 'pending', 'stored', state), type, count(*)
    FROM hookbox_events GROUP BY 1, 2, 3;
    INSERT INTO hookbox_counts (minute_ms, what, detail, count)
    SELECT received_ms / 60000 * 60000, 'answer-ms', CAST(1 + seq % 3 AS TEXT), count(*)
    FROM hookbox_events GROUP BY 1, 3;
  `);
})();
const id = String(database.prepare('SELECT id FROM hookbox_events ORDER BY seq DESC').pluck().get());
database.close();

const inbox = sqliteInbox(file);
const known = await inbox.get({ endpoint: 'default', id });
if (known?.id !== id) throw new Error('An event is not found by its id: a column is not what it is made of.');
while ((await inbox.operations?.indexNew(2_000)) !== 0);
await inbox.operations?.coarsen(Date.now() - 25 * 3_600_000);
await inbox.close();
process.stdout.write(`${JSON.stringify({ count })}\n`);
