// @module-tag postgres
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Finding } from '../../src/cli/doctor/machine-checks.ts';
import { judgeApart, judgeServer, judgeRights } from '../../src/cli/doctor/postgres-checks.ts';
import type { Rights } from '../../src/inbox/postgres/opening/server-faults.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { quoted, tableNames, tablesIn } from '../../src/inbox/postgres/sql/tables.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { dropSchema } from '../helpers/postgres.ts';
import { onPostgres, PASSWORD } from './on-postgres.ts';

const there = onPostgres();

/** BackendKeyData tells the number of a connection. */
const KEY_DATA = Buffer.from('K\0\0\0\u000c', 'latin1');

function renumbered(answer: Buffer): Buffer {
  const at = answer.indexOf(KEY_DATA);
  if (at !== -1) answer.writeUInt32BE(4_242_424, at + KEY_DATA.byteLength);
  return answer;
}

describe('hookbox doctor on Postgres', () => {
  interface Report {
    readonly code: number | null;
    readonly find: (check: string) => Finding | undefined;
  }

  async function examine(db = there.url): Promise<Report> {
    const { code, stdout, stderr } = await there.hookbox(['doctor', '--port', '0', '--json'], db);
    expect(`${stdout}${stderr}`).not.toContain(PASSWORD);
    const { checks } = JSON.parse(stdout) as { checks: readonly Finding[] };
    return { code, find: (check) => checks.find((one) => one.check === check) };
  }

  it('finds a server well, changes nothing there, and has no word of files', async () => {
    const { code, find } = await examine();
    expect(code).toBe(0);
    expect(find('pg')).toMatchObject({ status: 'ok' });
    expect(find('server')?.what).toMatch(new RegExp(`^Postgres \\d+\\.\\d+ at ${there.shown} answers in [\\d.]+ ms$`));
    expect(find('primary')).toMatchObject({ status: 'ok' });
    expect(find('encoding')).toMatchObject({ status: 'ok', what: 'UTF8' });
    expect(find('durability')).toMatchObject({ status: 'ok', what: 'fsync is on, and synchronous_commit on' });
    expect(find('rights')?.what).toBe(`the role "hookbox" may create the schema ${there.schema}`);
    expect(find('migrations')?.what).toMatch(
      /has no inbox yet; to create it, run hookbox migrate, or start a receiver without migrate: false/,
    );
    expect(find('server clock')).toMatchObject({ status: 'ok' });
    expect(find('database')).toMatchObject({ status: 'ok' });
    for (const check of ['folder', 'disk', 'file system', 'better-sqlite3', 'inbox', 'pooler', 'search_path']) {
      expect(find(check)).toBeUndefined();
    }
    expect(await there.isSchemaThere()).toBe(false);

    await there.makeInbox();
    const made = await examine();
    await there.pool.query(`ALTER TABLE ${tablesIn(there.schema).queue} SET (autovacuum_enabled = off)`);
    const lax = await examine();
    expect(lax.code).toBe(0);
    expect(lax.find('database')).toMatchObject({
      status: 'warning',
      advice: expect.stringContaining('RESET (autovacuum_enabled)'),
    });
    expect(made.find('rights')?.what).toBe('the role "hookbox" may use an inbox');
    expect(made.find('migrations')?.what).toMatch(new RegExp(`^the schema ${there.schema} has version \\d+$`));
  });

  it('finds what empties tables and keeps rows from being written, and events that nobody will handle', async () => {
    await there.makeInbox();
    const t = tablesIn(there.schema);
    expect((await examine()).find('tables')).toMatchObject({ status: 'ok' });
    await using inbox = postgresInbox(there.url, { schema: there.schema, listen: false });
    await inbox.accept(incoming(), later());
    expect((await examine()).find('events')).toMatchObject({ status: 'ok' });
    await there.pool.query(`DELETE FROM ${t.queue}; ALTER TABLE ${t.queue} SET UNLOGGED`);
    const { code, find } = await examine();
    expect(code).toBe(1);
    expect(find('tables')).toMatchObject({
      status: 'problem',
      advice: `Run: ALTER TABLE ${t.queue.replace('queue', '"queue"')} SET LOGGED`,
    });
    expect(find('events')).toMatchObject({
      status: 'problem',
      what: expect.stringContaining('an event that was acknowledged (evt_1)'),
      advice: expect.stringContaining(`INSERT INTO ${t.shelf}`),
    });
  });

  it('finds a sequence that is behind what is stored, and says the line that mends it', async () => {
    await there.makeInbox();
    const t = tablesIn(there.schema);
    await using inbox = postgresInbox(there.url, { schema: there.schema, listen: false });
    for (const id of ['a', 'b', 'c']) await inbox.accept(incoming({ id }), later());
    expect((await examine()).find('sequences')).toMatchObject({ status: 'ok' });
    await there.pool.query(`SELECT setval(pg_get_serial_sequence($1, 'seq'), 1)`, [t.events]);
    const finding = (await examine()).find('sequences');
    expect(finding).toMatchObject({
      status: 'problem',
      what: expect.stringMatching(/continues at 2, but the table already contains the number \d/),
    });
    const line = /^Run: (.*)$/.exec(finding?.advice ?? '')?.[1] ?? '';
    // What is refused, and what asks whether it is ready, says the same.
    const said = {
      message: expect.stringContaining('already contains the next number of its sequence (23505, events_pkey)'),
    };
    await expect(inbox.accept(incoming({ id: 'd' }), later())).rejects.toMatchObject(said);
    await there.pool.query(`SELECT setval(pg_get_serial_sequence($1, 'seq'), 1)`, [t.events]);
    await expect(inbox.operations?.ping()).rejects.toMatchObject({ message: expect.stringContaining(line) });
    await there.pool.query(line);
    await inbox.operations?.ping();
    expect(await inbox.accept(incoming({ id: 'd' }), later())).toMatchObject({ result: 'stored' });
    expect((await examine()).find('sequences')).toMatchObject({ status: 'ok' });
    expect((await inbox.list()).at(-1)?.id).toBe('d');
  });

  it('says of a role that only works that it may not look at sequences', async () => {
    const role = await there.scratchRole();
    await there.makeInbox();
    await there.pool.query(
      `GRANT USAGE ON SCHEMA ${quoted(there.schema)} TO ${role};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(there.schema)} TO ${role}`,
    );
    expect((await examine(there.urlOf(role))).find('sequences')).toMatchObject({
      status: 'ok',
      what: expect.stringContaining('cannot read the sequences'),
    });
    await using inbox = postgresInbox(there.urlOf(role), { schema: there.schema, listen: false });
    await inbox.operations?.ping();
  });

  it('says what a role is to be granted', async () => {
    const role = await there.scratchRole();
    const at = (check: string) => async (): Promise<Finding | undefined> =>
      (await examine(there.urlOf(role))).find(check);
    const rights = at('rights');
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringMatching(/^Run hookbox migrate .*: GRANT CREATE ON DATABASE "postgres" TO /),
    });
    await there.makeInbox();
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringContaining('GRANT USAGE ON SCHEMA'),
    });
    await there.pool.query(`GRANT USAGE ON SCHEMA ${quoted(there.schema)} TO ${role}`);
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringContaining('GRANT SELECT, INSERT'),
    });
    await there.pool.query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(there.schema)} TO ${role}`,
    );
    expect(await rights()).toMatchObject({ status: 'ok' });
    expect(await at('migrations')()).toMatchObject({ status: 'ok' });
    await there.pool.query(`DROP TABLE ${quoted(there.schema)}.audit; DELETE FROM ${quoted(there.schema)}.migrations`);
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringMatching(/^Run hookbox migrate .*: GRANT CREATE ON SCHEMA /),
    });
  });

  it('finds commits that nobody waits for, tables of somebody else, and those of a newer hookbox', async () => {
    const role = await there.scratchRole('SET synchronous_commit = off');
    await there.pool.query(`GRANT CREATE ON DATABASE postgres TO ${role}`);
    const lax = await examine(there.urlOf(role));
    expect(lax.code).toBe(1);
    expect(lax.find('durability')).toMatchObject({
      status: 'problem',
      advice: `Run: ALTER ROLE ${quoted(role)} SET synchronous_commit = on`,
    });
    // Commands that store no deliveries work there, as beside an inbox with ephemeral: true.
    for (const command of [['migrate'], ['events', 'list']]) {
      expect(await there.hookbox(command, there.urlOf(role))).toMatchObject({ code: 0 });
    }
    const stored = await there.hookbox(['serve', '--port', '0', '--unsafe-unsigned'], there.urlOf(role));
    expect(stored).toMatchObject({ code: 1, stderr: expect.stringContaining('synchronous_commit is off') });
    await dropSchema(there.pool, there.schema);

    await there.pool.query(
      `CREATE SCHEMA ${quoted(there.schema)}; CREATE TABLE ${quoted(there.schema)}.migrations (id int)`,
    );
    expect((await examine()).find('migrations')).toMatchObject({
      status: 'problem',
      advice: 'Use a different --schema.',
    });
    await dropSchema(there.pool, there.schema);
    await there.makeInbox();
    await there.pool.query(
      `INSERT INTO ${quoted(there.schema)}.migrations (version, name, needs) VALUES (1000, 'next', 1000)`,
    );
    expect((await examine()).find('migrations')).toMatchObject({
      status: 'problem',
      advice: 'Update this installation of hookbox.',
    });
  });

  it('sees a pooler in between, which has numbers of its own for connections', async () => {
    const { hostname, port } = new URL(there.url);
    const pooler = createServer((client) => {
      const server = connect(Number(port), hostname);
      for (const socket of [client, server]) socket.on('error', () => {});
      client.pipe(server);
      server.on('data', (answer) => client.write(renumbered(answer))).on('end', () => client.end());
    });
    pooler.listen(0, hostname);
    await once(pooler, 'listening');
    onTestFinished(() => void pooler.close());
    const between = new URL(there.url);
    between.port = String((pooler.address() as AddressInfo).port); // of a server that listens on TCP
    expect((await examine(between.href)).find('pooler')?.what).toContain('a pooler, such as PgBouncer, is in use');
  });

  it('says that nobody is there', async () => {
    const { code, find } = await examine(`postgres://ada:${PASSWORD}@127.0.0.1:1/shop`);
    expect(code).toBe(1);
    expect(find('server')).toMatchObject({
      status: 'problem',
      what: 'hookbox cannot use postgres://127.0.0.1:1/shop: the connection to Postgres failed (ECONNREFUSED)',
    });
  });

  it('says of what a server refuses that it runs', async () => {
    const url = new URL(there.url);
    url.pathname = '/nowhere';
    expect((await examine(url.href)).find('server')).toMatchObject({
      status: 'problem',
      what: expect.stringContaining('database "nowhere" does not exist'),
      advice: 'The server is running. Correct the URL, or create the role or the database that the URL names.',
    });
  });

  it('judges what no server here is', () => {
    const well = {
      version: 180_004,
      encoding: 'UTF8',
      fsync: 'on',
      synchronous_commit: 'on',
      standby: false,
      role: 'a',
    };
    const problems = (server: Partial<typeof well>) =>
      judgeServer({ ...well, ...server }).flatMap(({ check, status }) => (status === 'problem' ? [check] : []));
    expect(problems({})).toEqual([]);
    expect(problems({ version: 130_011, standby: true })).toEqual(['server', 'primary']);
    expect(problems({ encoding: 'LATIN1', fsync: 'off' })).toEqual(['encoding', 'durability']);
    expect(judgeServer({ ...well, synchronous_commit: 'off', fsync: 'off' })).toHaveLength(4);
  });

  it('judges clocks that are apart', () => {
    expect(judgeApart(3)).toMatchObject({
      status: 'ok',
      what: expect.stringContaining('3 ms ahead of the clock of this machine'),
    });
    expect(judgeApart(-7_250)).toMatchObject({
      status: 'warning',
      what: expect.stringContaining('7.3 s behind the clock'),
    });
  });

  it('wants of a role no more than an inbox needs', () => {
    const rights: Rights = {
      role: 'shop',
      database: 'shop',
      there: true,
      makesSchemas: false,
      uses: true,
      makesTables: false,
      tables: tableNames.length,
      closed: [],
      isFirst: false,
    };
    expect(judgeRights(rights, 'hookbox')).toMatchObject({ status: 'ok' });
    expect(judgeRights({ ...rights, closed: ['queue'] }, 'hookbox')).toMatchObject({ status: 'problem' });
  });
});
