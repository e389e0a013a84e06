import { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { InboxOpenError, InboxUnavailableError } from '../../../src/errors.ts';
import { onServer } from '../../../src/inbox/postgres/opening/open.ts';
import { postgresInbox, type PostgresSource } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { postgresUrl } from '../../helpers/postgres.ts';

const PASSWORD = 'a-password-of-the-merchant';

async function failureOf(
  source: PostgresSource,
  kind: new (...given: never[]) => Error = InboxUnavailableError,
): Promise<string> {
  await using inbox = postgresInbox(source);
  const failure: unknown = await inbox.list().catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(kind);
  const said = `${String(failure)}${(failure as Error).stack}`;
  for (const secret of [PASSWORD, 'ada', '4711']) expect(said).not.toContain(secret);
  return (failure as Error).message;
}

function poolOf(settings: ConstructorParameters<typeof Pool>[0]): Pool {
  const pool = new Pool(settings);
  onTestFinished(() => pool.end());
  return pool;
}

it('a server that nobody reaches is named by host, port and database, by a URL as by a pool', async () => {
  const url = `postgres://ada:${PASSWORD}@127.0.0.1:1/shop`;
  const refused = 'the connection to Postgres failed (ECONNREFUSED)';
  expect(await failureOf(url)).toBe(`${refused}: postgres://127.0.0.1:1/shop`);
  expect(await failureOf({ pool: poolOf({ connectionString: url }) })).toBe(`${refused}: postgres://127.0.0.1:1/shop`);
  const parts = { host: '127.0.0.1', port: 1, database: 'shop', user: 'ada', password: PASSWORD };
  expect(await failureOf({ pool: poolOf(parts) })).toBe(`${refused}: 127.0.0.1, port 1, database shop`);
});

it('a pool that was given nothing, as where DATABASE_URL is not set, says where it goes instead', async () => {
  const nowhere = poolOf({ connectionString: undefined, port: 1 });
  expect(await failureOf({ pool: nowhere })).toMatch(/ECONNREFUSED.*: localhost, .*Is DATABASE_URL set\?$/);
});

it('a connection that breaks, by whatever name Node has for it, is a lost one', async () => {
  let tries = 0;
  const connect = () => {
    tries += 1;
    return Promise.reject(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  };
  expect(await failureOf({ connect })).toBe('the connection to Postgres failed (EPIPE)');
  expect(tries).toBeGreaterThan(1);
});

it.each([
  ['#', `postgres://ada:${PASSWORD}#@127.0.0.1:1/shop`, /write @ .* as %40 /],
  ['/', `postgres://ada:${PASSWORD}/@127.0.0.1:1/shop`, /write @ .* as %40 /],
  [
    '/ after digits',
    `postgres://ada:4711/${PASSWORD}@127.0.0.1:1/shop`,
    /failed \(\w+\): postgres:\/\/…\. In the password, write @ /,
  ],
  [
    '# after digits',
    `postgres://ada:4711#${PASSWORD}@127.0.0.1:1/shop`,
    /failed \(\w+\): postgres:\/\/…\. In the password, write @ /,
  ],
  [
    '@ and a #',
    `postgres://ada:${PASSWORD}@127.0.0.1:1#@127.0.0.1:1/shop`,
    /failed \(\w+\): postgres:\/\/…\. In the password, write @ /,
  ],
])('a password with a %s that is not escaped is told without a word of it', async (_, url, message) => {
  expect(await failureOf(url)).toMatch(message);
  await expect(onServer(url, async () => {})).rejects.toThrow(/[wW]rite @ .* as %40 /);
});

it('a URL without a password, where the server asks for one, is told so', async () => {
  const url = new URL(await postgresUrl());
  url.username = 'guarded'; // of whom a password is asked, there or not
  url.password = '';
  expect(await failureOf(url.href, InboxOpenError)).toContain('requires a password, but the URL or pool has none');
});
