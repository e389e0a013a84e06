// node multiply.ts FILE COUNT: makes so many events of those that were stored and handled in the file, by copying their
// rows under ids of their own, because ten million deliveries would take an hour. What else has rows for an event
// (attempts, entities, words of the search) gets them for each copy. Prints a line of JSON.
import { freemem } from 'node:os';
import Database from 'better-sqlite3';
import { sqliteInbox } from 'hookbox/sqlite';

/** How often each event is copied by one statement. */
const AT_ONCE = 50;
const MOST_CACHE_BYTES = 6 * 1024 ** 3;

const [file = '', argument = '0'] = process.argv.slice(2);
const count = Number(argument);

const inbox = sqliteInbox(file);
while ((await inbox.operations?.indexNew(2_000)) !== 0);
await inbox.close();

const database = new Database(file);
// It gives this connection the function by which ids are hashed.
await sqliteInbox({ database }, { thread: false }).close();
// Nothing is lost if this is cut short, and with the indexes in memory a row costs microseconds. Without a journal only
// in unsafe mode.
database.unsafeMode();
database.pragma('journal_mode = OFF');
database.pragma('synchronous = OFF');
database.pragma(`cache_size = -${Math.floor(Math.min(MOST_CACHE_BYTES, freemem() / 3) / 1024)}`);
const one = (sql: string): number => Number(database.prepare(sql).pluck().get());
const originals = one('SELECT max(seq) FROM hookbox_events');
const spanMs = one('SELECT max(settled_ms) - min(received_ms) + 1 FROM hookbox_events');
const times = Math.ceil(count / originals);

database.exec(`
  CREATE TEMP TABLE copies (seq INTEGER PRIMARY KEY, original INTEGER, old TEXT, new TEXT, age_ms INTEGER);
  CREATE TEMP TABLE words (seq INTEGER, term TEXT, PRIMARY KEY (seq, term)) WITHOUT ROWID;
  INSERT INTO words SELECT seq, term FROM hookbox_terms`);
const random = (bytes: number): string => `lower(hex(randomblob(${bytes})))`;
const uuid = [4, 2, 2, 2, 6].map(random).join(` || '-' || `);
/** The UUID of the original's id, and the parts of it that name its order and its user (order-event.ts). */
const renamed = (text: string): string =>
  [
    ['old', 'new'],
    ['substr(old, 1, 18)', 'substr(new, 1, 18)'],
    ['substr(old, 25)', 'substr(new, 25)'],
  ].reduce((inner, [from, to]) => `replace(${inner}, ${from}, ${to})`, text);

const make = database.prepare(`
  WITH RECURSIVE n (n) AS (SELECT :first UNION ALL SELECT n + 1 FROM n WHERE n < :last)
  INSERT INTO copies
  SELECT n * ${originals} + seq, seq, substr(id, 5), ${uuid}, (${times} - n) * ${spanMs}
  FROM n CROSS JOIN hookbox_events WHERE seq <= ${originals} AND n * ${originals} + seq <= ${count}`);
const forget = database.prepare('DELETE FROM copies');
const inserts = [
  copied('hookbox_events', 'it.seq = copies.original'),
  copied('hookbox_attempts', 'it.seq = copies.original'),
  copied('hookbox_terms', 'it.seq = copies.original', 'words'),
  copied('hookbox_entities', 'it.entity = (SELECT entity FROM hookbox_events WHERE seq = copies.original)'),
];

/** Rows of the originals, with ids and times of the copies. */
function copied(table: string, which: string, source = table): Database.Statement {
  const columns = database.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`).pluck().all();
  const values = columns.map((column) => {
    if (column === 'seq') return 'copies.seq';
    if (column === 'id_hash') return `hookbox_id_hash(${renamed('it.id')})`;
    if (['id', 'entity', 'term'].includes(column)) return renamed(`it.${column}`);
    if (column === 'body') return `CAST(${renamed('CAST(it.body AS TEXT)')} AS BLOB)`;
    // When the service made it stands in the body, too.
    return column.endsWith('_ms') && column !== 'created_ms' ? `it.${column} - age_ms` : `it.${column}`;
  });
  return database.prepare(
    `INSERT OR IGNORE INTO ${table} (${columns.join(', ')})
     SELECT ${values.join(', ')} FROM copies CROSS JOIN ${source} AS it ON ${which}`,
  );
}

for (let first = 1; first < times; first += AT_ONCE) {
  database.transaction(() => {
    forget.run();
    make.run({ first, last: Math.min(times, first + AT_ONCE) - 1 });
    for (const insert of inserts) insert.run();
  })();
  if ((first - 1) % (10 * AT_ONCE) === 0) process.stderr.write(`  ${first * originals} events\n`);
}
database.prepare('UPDATE hookbox_progress SET seq = ? WHERE seq = ?').run(count, originals);
const { endpoint, id } = database
  .prepare<[], { endpoint: string; id: string }>('SELECT endpoint, id FROM hookbox_events ORDER BY seq DESC')
  .get() ?? { endpoint: '', id: '' };
const processed = one("SELECT count(*) FROM hookbox_events WHERE state = 'processed'");
database.close();

// What a column holds that is new since may depend on the id.
const afterwards = sqliteInbox(file);
const known = await afterwards.get({ endpoint, id });
await afterwards.close();
if (known?.id !== id) throw new Error('A copy is not found by its id: a column has to be made anew for it.');
process.stdout.write(`${JSON.stringify({ processed })}\n`);
