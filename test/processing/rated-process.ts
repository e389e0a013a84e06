// A process that keeps a rate with others: node rated-process.ts <count> <perMs> <file>
// or: node rated-process.ts <count> <perMs> <url of Postgres> <schema> all|unlocked
// It handles events until its input ends. `unlocked` is a mutant: two claims may count at the same time.
import { Pool, type PoolClient } from 'pg';
import type { Inbox } from '../../src/inbox/contract.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { rewrittenPool } from '../inbox/postgres/pools.ts';
import { silent } from '../helpers/silent-logger.ts';

const [count = '', perMs = '', source = '', schema, locks] = process.argv.slice(2);
const rate = { count: Number(count), perMs: Number(perMs) };
const pool = schema === undefined ? null : new Pool({ connectionString: source, max: 6 });

function inboxOf(): Inbox | Inbox<PoolClient> {
  if (pool === null) return sqliteInbox(source);
  const unlocked = rewrittenPool(pool, (text) =>
    text.includes('ORDER BY endpoint, type FOR UPDATE') ? text.replace('FOR UPDATE', '') : text,
  );
  return postgresInbox<PoolClient>({ pool: locks === 'unlocked' ? unlocked : pool }, { ...(schema && { schema }) });
}

const inbox = inboxOf() as Inbox; // the handler needs no database
const processor = createProcessor({ inbox, logger: silent, handlers: { 'order.created': { handle() {}, rate } } });
await processor.start();
process.stdin.resume().on('end', () => void end());

async function end(): Promise<void> {
  await processor.close();
  await inbox.close();
  await pool?.end();
}
