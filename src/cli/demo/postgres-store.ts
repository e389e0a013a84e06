import { Client } from 'pg';
import { postgresInbox } from '../../inbox/postgres/postgres-inbox.ts';
import type { PostgresConnection } from '../../inbox/postgres/driver/client.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { DemoStore } from './demo-store.ts';
import type { DemoServer } from './postgres-server.ts';

/** Postgres as a shop would have it, with a table of the shop beside the inbox. */
export async function postgresStore(server: DemoServer): Promise<DemoStore> {
  await server.start();
  await asked(server.url, 'CREATE TABLE demo_effects (event_id text NOT NULL)');
  return {
    place: server.place,
    open: () => postgresInbox(server.url) as Inbox<never>, // the demo hands its connections on without a look
    writeEffect: (connection, id) =>
      (connection as PostgresConnection).query({ text: 'INSERT INTO demo_effects VALUES ($1)', values: [id] }),
    async effects() {
      const counted = await asked(
        server.url,
        'SELECT count(*)::int AS effects, count(DISTINCT event_id)::int AS events FROM demo_effects',
      );
      return counted as { effects: number; events: number }; // the columns of the statement
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function asked(url: string, text: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(text);
  await client.end();
  return rows[0];
}
