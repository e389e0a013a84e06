import { Client, Pool, Query, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TransactionError } from '../../../src/errors.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const schema = schemaName();
const orders = `${quoted(schema)}.orders`;
let pool: Pool;
let inbox: Inbox<PoolClient>;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  inbox = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  await inbox.get(KEY);
  await pool.query(`CREATE TABLE ${orders} (id text PRIMARY KEY)`);
});

afterAll(async () => {
  await inbox.close();
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(async () => {
  await emptySchema(pool, schema);
  await pool.query(`TRUNCATE ${orders}`);
});

/** The result or error of a function, its writes, and the state of its event. */
async function ran(work: (client: PoolClient) => unknown) {
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  const attempt = { now: () => START, signal: new AbortController().signal };
  const ended = await inbox.transaction(event.lease, work, attempt).then(
    (result) => result,
    (failure: unknown) => failure,
  );
  const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${orders} ORDER BY id`);
  return { ended, written: rows.map(({ id }) => id).join(), state: (await inbox.get(KEY))?.state };
}

const insert = (client: PoolClient, id: string) => client.query(`INSERT INTO ${orders} VALUES ($1)`, [id]);

async function nested(client: PoolClient, work: () => Promise<unknown>, begin = 'BEGIN'): Promise<void> {
  await client.query(begin);
  try {
    await work();
    await client.query('COMMIT');
  } catch (failure) {
    await client.query('ROLLBACK');
    throw failure;
  }
}

const COMMITTED = { written: 'a,b,c', state: 'processed' };

describe('a transaction inside of ctx.transaction', () => {
  it.each([
    'BEGIN',
    'begin;',
    ' /* an /* ORM */ says */ -- so\n BEGIN TRANSACTION ',
    'START TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE',
    'BEGIN WORK NOT DEFERRABLE',
  ])('that begins with %s is a savepoint, which commits with the event', async (begin) => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await nested(client, () => insert(client, 'b'), begin);
      await insert(client, 'c');
    });
    expect(end).toMatchObject(COMMITTED);
  });

  it('takes back what it did, and nothing else, when it is rolled back after a failure', async () => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      const failing = nested(client, async () => {
        await insert(client, 'gone');
        await insert(client, 'a');
      });
      await expect(failing).rejects.toThrow(/duplicate key/);
      await insert(client, 'b');
      await nested(client, () => insert(client, 'c'));
    });
    expect(end).toMatchObject(COMMITTED);
  });

  it('may have others inside of it, and savepoints of its own', async () => {
    const end = await ran((client) =>
      nested(client, async () => {
        await insert(client, 'a');
        const inner = nested(client, async () => {
          await insert(client, 'gone');
          throw new Error('the inner one fails');
        });
        await expect(inner).rejects.toThrow('the inner one fails');
        await nested(client, () => insert(client, 'b'));
        await client.query('SAVEPOINT mine');
        await insert(client, 'gone');
        await client.query('ROLLBACK TO SAVEPOINT mine');
        await client.query('ROLLBACK TRANSACTION TO mine');
        await client.query('RELEASE mine');
        await insert(client, 'c');
      }),
    );
    expect(end).toMatchObject(COMMITTED);
  });

  it.each<[string, (client: PoolClient, text: string) => Promise<unknown>]>([
    ['a text', (client, text) => client.query(text)],
    ['an object', (client, text) => client.query({ text })],
    ['an object with no values', (client, text) => client.query({ text, values: [] })],
    ['a text with no values', (client, text) => client.query(text, [])],
    ['a named statement', (client, text) => client.query({ name: `own ${text}`, text })],
    ['the extended protocol', (client, text) => client.query({ text, queryMode: 'extended' } as { text: string })],
    ['an object whose text is a getter', (client, text) => client.query(new Tagged(text))],
    [
      'a callback',
      (client, text) =>
        new Promise((resolve, reject) => {
          client.query(text, (failure: Error | undefined, result) => (failure ? reject(failure) : resolve(result)));
        }),
    ],
    [
      'a callback behind values',
      (client, text) =>
        new Promise((resolve, reject) => {
          client.query(text, [], (failure: Error | undefined, result) => (failure ? reject(failure) : resolve(result)));
        }),
    ],
  ])('is one in whichever way it is asked for: %s', async (_, send) => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await send(client, 'BEGIN');
      await insert(client, 'gone');
      expect(await send(client, 'ROLLBACK')).toMatchObject({ command: 'ROLLBACK' });
      await send(client, 'BEGIN');
      await insert(client, 'b');
      expect(await send(client, 'COMMIT')).toMatchObject({ rows: [] });
      await insert(client, 'c');
    });
    expect(end).toMatchObject(COMMITTED);
  });

  it('is one among several statements of one text', async () => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      const results: unknown = await client.query(
        `BEGIN; INSERT INTO ${orders} VALUES ('b'); SELECT CASE WHEN true THEN ';COMMIT;' END AS said; END;
         START TRANSACTION; INSERT INTO ${orders} VALUES ('gone'); ABORT`,
      );
      expect(results).toMatchObject([{}, {}, { rows: [{ said: ';COMMIT;' }] }, {}, {}, {}, { command: 'ROLLBACK' }]);
      await insert(client, 'c');
    });
    expect(end).toMatchObject(COMMITTED);
  });

  it('need not be awaited statement by statement', async () => {
    const end = await ran(async (client) => {
      const all = [
        insert(client, 'a'),
        client.query('BEGIN'),
        insert(client, 'b'),
        client.query('COMMIT'),
        insert(client, 'c'),
      ];
      await Promise.all<unknown>(all);
    });
    expect(end).toMatchObject(COMMITTED);
  });

  it('that could not begin is not there, and one that could not end is still open', async () => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await client.query('BEGIN');
      await client.query('SELECT 1 / 0').catch(() => {});
      await expect(client.query('BEGIN')).rejects.toMatchObject({ code: '25P02' });
      await expect(client.query('COMMIT')).rejects.toMatchObject({ code: '25P02' });
      await client.query('ROLLBACK');
      await insert(client, 'b');
      await insert(client, 'c');
    });
    expect(end).toMatchObject(COMMITTED);
  });

  it('that the function leaves open commits nothing', async () => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await client.query('BEGIN');
      await insert(client, 'b');
    });
    expect(end).toMatchObject({ written: '', state: 'processing', ended: { code: 'ENDED_EARLY' } });
    expect(String(end.ended)).toMatch(/did not end it/);
  });

  it.each([
    'BEGIN ISOLATION LEVEL SERIALIZABLE',
    'START TRANSACTION READ ONLY',
    'begin isolation level repeatable read',
  ])('that asks for what a savepoint cannot have is refused: %s', async (begin) => {
    const end = await ran((client) => nested(client, () => insert(client, 'a'), begin));
    expect(end).toMatchObject({ written: '', state: 'processing', ended: { code: 'NOT_SENT' } });
  });
});

/** Template libraries pass statements like this. */
class Tagged {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }
}

describe('what would end the transaction of ctx.transaction', () => {
  const refused = { written: '', state: 'processing', ended: { name: 'TransactionError', code: 'ENDED_EARLY' } };

  it.each([
    'COMMIT',
    'commit;',
    'END',
    'END WORK',
    '-- a comment\nCOMMIT',
    '/* a /* nested */ one */COMMIT',
    ';;COMMIT',
    'COMMIT AND NO CHAIN',
    'COMMIT AND CHAIN',
    'ROLLBACK',
    'ABORT',
    'ROLLBACK AND CHAIN',
    "PREPARE TRANSACTION 'mine'",
    'SELECT 1; COMMIT',
    `SELECT 'it''s', E'\\';', $tag$ $ ; $tag$, ";" FROM (SELECT 1 AS ";") AS one; COMMIT`,
    'BEGIN; COMMIT; COMMIT',
  ])('is not sent, and the attempt fails: %s', async (text) => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await client.query(text);
    });
    expect(end).toMatchObject(refused);
  });

  it.each(['COMMIT', 'ROLLBACK'])('fails the attempt also where the function has caught that: %s', async (text) => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await client.query(text).catch(() => {});
    });
    expect(end).toMatchObject(refused);
  });

  it('and where nobody has waited for it', async () => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      void client.query('COMMIT');
    });
    expect(end).toMatchObject(refused);
  });

  it('is refused to a callback, and to an object that sends itself', async () => {
    const heard: unknown[] = [];
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await new Promise<void>((resolve) => {
        client.query('COMMIT', (failure: unknown) => {
          heard.push(failure);
          resolve();
        });
      });
      await new Promise<void>((resolve) => {
        const query = new Query('ROLLBACK');
        query.on('error', (failure) => {
          heard.push(failure);
          resolve();
        });
        client.query(query);
      });
      await new Promise<void>((resolve) => {
        const query = new Query('BEGIN');
        query.on('error', (failure) => {
          heard.push(failure);
          resolve();
        });
        client.query(query);
      });
    });
    expect(end).toMatchObject(refused);
    expect(heard).toEqual([expect.any(TransactionError), expect.any(TransactionError), expect.any(TransactionError)]);
    expect(heard).toMatchObject([{ code: 'ENDED_EARLY' }, { code: 'ENDED_EARLY' }, { code: 'NOT_SENT' }]);
  });

  it.each([
    `CREATE FUNCTION ${quoted(schema)}.one() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 1 END; END`,
    `CREATE FUNCTION ${quoted(schema)}.two() RETURNS int LANGUAGE plpgsql AS $$BEGIN RETURN 1; END$$`,
    'DO $do$ BEGIN PERFORM 1; END; $do$',
    'SELECT \'COMMIT\', 1 AS commit, 2 AS "ROLLBACK" -- COMMIT;',
    'PREPARE one AS SELECT 1; DEALLOCATE one',
  ])('is not seen in what only looks like it: %s', async (text) => {
    const end = await ran(async (client) => {
      await insert(client, 'a');
      await client.query(text);
    });
    expect(end).toMatchObject({ written: 'a', state: 'processed' });
    await pool.query(`DROP FUNCTION IF EXISTS ${quoted(schema)}.one; DROP FUNCTION IF EXISTS ${quoted(schema)}.two`);
  });

  it('is left to Postgres where it takes no several statements', async () => {
    const text = 'SELECT $1::int; COMMIT';
    const end = await ran(async (client) => {
      await insert(client, 'a');
      return client.query(text, [1]);
    });
    expect(end).toMatchObject({ written: '', state: 'processing', ended: { code: '42601' } });
  });
});

it('a client of another connection is not touched by any of this', async () => {
  const own = new Client({ connectionString: await postgresUrl() });
  await own.connect();
  const end = await ran(async () => {
    await own.query('BEGIN');
    await own.query(`INSERT INTO ${orders} VALUES ('theirs')`);
    await own.query('COMMIT');
  });
  await own.end();
  expect(end).toMatchObject({ written: 'theirs', state: 'processed' });
});
