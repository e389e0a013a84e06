import { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { limitsOf } from '../../../src/processing/limits.ts';
import { later, severalIncoming } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';

it('an inbox of a URL has connections for as many transactions as there are handlers, and for renewals and deliveries beside', async () => {
  const url = await postgresUrl();
  const schema = schemaName();
  onTestFinished(async () => {
    await using pool = Object.assign(new Pool({ connectionString: url }), {
      async [Symbol.asyncDispose]() {
        await pool.end();
      },
    });
    await dropSchema(pool, schema);
  });
  await using inbox = postgresInbox(url, { schema, listen: false });
  const { concurrency } = limitsOf({ handlers: {}, inbox });
  const [more, ...events] = severalIncoming(concurrency + 1, { entity: null, receivedAt: Date.now() });
  if (more === undefined) throw new Error('there is one');
  await Promise.all(events.map((event) => inbox.accept(event, later())));
  const leaseMs = 60_000;
  const claimed = await inbox.claim({ ...EVERYTHING, now: Date.now(), leaseMs, ordered: true }, concurrency);
  const leases = claimed.map(({ lease }) => lease);
  const goOn = Promise.withResolvers<void>();
  const begun: Promise<void>[] = [];
  const transactions = leases.map((lease) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    begun.push(promise);
    const work = async () => {
      resolve();
      await goOn.promise;
    };
    return inbox.transaction(lease, work, { now: Date.now, signal: new AbortController().signal });
  });
  try {
    await Promise.all(begun);
    const beside = [inbox.renew(leases, Date.now(), leaseMs), inbox.accept(more, later())];
    expect(await Promise.all(beside)).toMatchObject([leases, { result: 'stored' }]);
  } finally {
    goOn.resolve();
    await Promise.all(transactions);
  }
  expect(leases).toHaveLength(concurrency);
});
