// A process whose handler needs a provider: node broken-process.ts <folder> <file>, or <folder> <url of Postgres> <schema>
// The folder's file `provider` says whether it is `down`, `hangs` or is `up`; each attempt adds a line to `runs`.
// The process handles events until its input ends.
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import type { Inbox } from '../../src/inbox/contract.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { silent } from '../helpers/silent-logger.ts';
import { BREAKER, HANDLE_MS, PROBE_TIMES } from './broken-provider.ts';

const [folder = '', source = '', schema] = process.argv.slice(2);
const inbox = (schema === undefined ? sqliteInbox(source) : postgresInbox<PoolClient>(source, { schema })) as Inbox; // the handler needs no database

const processor = createProcessor({
  inbox,
  logger: silent,
  processing: { leaseMs: PROBE_TIMES.leaseMs, concurrency: 3, retry: { attempts: 5, baseMs: 1, maxMs: 1 } },
  handlers: {
    'order.created': {
      breaker: BREAKER,
      timeoutMs: PROBE_TIMES.timeoutMs,
      async handle({ id }) {
        const provider = readFileSync(join(folder, 'provider'), 'utf8');
        appendFileSync(join(folder, 'runs'), `${JSON.stringify({ at: Date.now(), pid: process.pid, id, provider })}\n`);
        await delay(provider === 'hangs' ? 60_000 : HANDLE_MS);
        if (provider === 'down') throw new Error('the provider is down');
      },
    },
  },
});
await processor.start();
process.stdin.resume().on('end', () => void processor.close().then(() => inbox.close()));
