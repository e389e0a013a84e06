// @module-tag longest
import { expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { auditLines } from '../../../src/ops/audit.ts';
import { backup } from '../../../src/ops/backup.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { importEvents } from '../../../src/ops/import.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { orderEvent, orderEvents, store } from '../../helpers/order-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { ANY, FAILED, handleAgain, handled } from '../../ops/events-in-states.ts';
import { ADA, exported, fill } from '../../ops/filled-inbox.ts';
import { testImportHandled } from '../../ops/import-handled.conformance.ts';
import { testTransfer } from '../../ops/transfer.conformance.ts';
import { testImportRules } from '../../ops/import-rules.conformance.ts';
import { interferedPool, type Interference } from './pools.ts';
import { operatedInboxes, type OperatedSchema } from './operators.ts';
import { plantDead, refuse } from './planted.ts';

const OURS = { trusted: true } as const;
/** As many as one test has inboxes. */
const schemas = [operatedInboxes(), operatedInboxes(), operatedInboxes()];
const schemaOf = new WeakMap<Inbox, OperatedSchema>();
let inUse = 0;

async function opened(source?: Parameters<OperatedSchema['open']>[0]): Promise<Inbox<never>> {
  const schema = schemas[inUse]?.();
  if (schema === undefined) throw new Error('no test has as many inboxes');
  inUse += 1;
  const inbox = await schema.open(source);
  schemaOf.set(inbox, schema);
  onTestFinished(async () => {
    inUse = 0;
    await inbox.close();
  });
  return inbox;
}

function of(inbox: Inbox): OperatedSchema {
  const schema = schemaOf.get(inbox);
  if (schema === undefined) throw new Error('not opened here');
  return schema;
}

testTransfer('transfer between schemas', {
  open: () => opened(),
  plantDead(inbox, ...events) {
    const { pool, t } = of(inbox);
    return plantDead(pool, t, ...events);
  },
  async breaksAt(inbox, id) {
    const { pool, t } = of(inbox);
    await refuse(pool, t, `INSERT ON ${t.events}`, `NEW.id = '${id}'`);
  },
});

testImportHandled('handled ids in a schema', { open: () => opened() });

testImportRules('what an import into a schema believes', {
  open: () => opened(),
  async broken(inbox) {
    const { pool, t } = of(inbox);
    const { rows } = await pool.query(
      `SELECT events.id FROM ${t.events} AS events LEFT JOIN ${t.queue} AS queue USING (seq)
         LEFT JOIN ${t.shelf} AS shelf USING (seq) LEFT JOIN ${t.imported} AS imported USING (seq)
       WHERE (shelf.seq IS NULL AND (events.type IS NULL OR events.created_ms IS NULL)) OR events.received_ms > $1
         OR queue.due_ms > $1 + 86400000 * CASE WHEN id LIKE 'ours%' THEN 30::bigint ELSE 1 END OR coalesce(shelf.settled_ms, imported.settled_ms) > $1
         OR num_nonnulls(queue.seq, shelf.seq, imported.seq) <> 1
         OR coalesce(NOT shelf.pruned, imported.prunable, true) <> (events.body IS NOT NULL)`,
      [Date.now()],
    );
    return rows;
  },
});

it.each([
  ['SQLite', async (): Promise<Inbox> => fileInbox(), () => opened()],
  ['Postgres', () => opened(), async (): Promise<Inbox> => fileInbox()],
] as const)(
  'an inbox in %s moves to the other and back: the same bytes, ids, states, attempts and marks',
  async (_, openHere, openThere) => {
    const here = await openHere();
    await fill(here);
    await moreOf(here);
    const lines = await exported(here);
    const there = await openThere();
    expect(await importEvents(there, lines, ADA, OURS)).toMatchObject({ known: 0, different: 0 });
    expect(await exported(there)).toEqual(lines);
    const back = await openHere();
    await importEvents(back, await exported(there), ADA, OURS);
    expect(await exported(back)).toEqual(lines);
    const [before, after] = [await here.list({ limit: 500 }), await there.list({ limit: 500 })];
    const numberless = (events: typeof before) => events.map((event) => ({ ...event, seq: 0 }));
    expect(numberless(after)).toEqual(numberless(before));
    for (const event of before) expect(await there.attempts(event)).toEqual(await here.attempts(event));
    expect(await importEvents(there, lines, ADA, OURS)).toMatchObject({ imported: 0, different: 0 });
    expect(await exported(there)).toEqual(lines);
  },
);

it('what was processed elsewhere is pruned by retention, and rerun with its attempts going on', async () => {
  const here = fileInbox();
  await handled(here, { outcome: 'processed' }, orderEvent('one'), orderEvent('two'), orderEvent('three'));
  const lines = await exported(here);
  const there = await opened();
  await importEvents(there, lines, ADA, OURS);
  expect(await there.prune('*', START + 2, 10)).toBe(0);
  expect(await there.prune(['other'], START + 3, 10)).toBe(0);
  expect(await there.prune('*', START + 3, 1)).toBe(1);
  expect((await operationsOf(there).act('rerun', [orderEvent('two')], ADA, { force: true })).counts).toEqual({
    done: 1,
  });
  expect(await there.prune('*', START + 3, 10)).toBe(1);
  expect((await there.list()).map(({ state, body }) => [state, body === null])).toEqual([
    ['processed', true],
    ['pending', false],
    ['processed', true],
  ]);
  await handleAgain(there, { outcome: 'processed' }, orderEvent('two'));
  expect((await there.attempts(orderEvent('two'))).map(({ number, trigger }) => [number, trigger])).toEqual([
    [1, 'auto'],
    [2, 'manual'],
  ]);
  expect(await there.prune('*', START + 3, 10)).toBe(1);
});

it.each(['lost', 'unanswered'] as const)(
  'a batch of an import of which every other COMMIT is %s comes in once, and is counted so',
  async (interference) => {
    const here = fileInbox();
    await store(here, ...orderEvents(250));
    const lines = await exported(here);
    let commits = 0;
    const there = await opened(
      interferedPool(schemas[inUse]?.().pool ?? ({} as never), (text): Interference => {
        if (text !== 'COMMIT') return null;
        commits += 1;
        return commits % 2 === 0 ? interference : null;
      }),
    );
    const { imported, known } = await importEvents(there, lines, ADA, OURS);
    expect([imported, known]).toEqual([250, 0]);
    expect((await auditLines(there)).lines).toMatchObject([{ counts: { imported: 250, known: 0, different: 0 } }]);
    expect((await there.list({ limit: 500 })).map(({ id }) => id)).toEqual(
      (await here.list({ limit: 500 })).map(({ id }) => id),
    );
  },
);

it('the same export imported twice at once, beside the deliveries of the same events, comes in once', async () => {
  const here = fileInbox();
  const events = orderEvents(300);
  await store(here, ...events);
  const lines = await exported(here);
  const there = await opened();
  const delivered = Promise.all(events.toReversed().map((event) => there.accept(event, later())));
  const [one, two, acceptances] = await Promise.all([
    importEvents(there, lines, ADA, OURS),
    importEvents(there, lines, ADA, OURS),
    delivered,
  ]);
  const stored = acceptances.filter(({ result }) => result === 'stored').length;
  expect(one.imported + two.imported + stored).toBe(300);
  expect([one.imported + one.known, two.imported + two.known]).toEqual([300, 300]);
  expect(await there.list({ limit: 500 })).toHaveLength(300);
});

it('an export beside handlers and deliveries tells of each event what was true at one moment, and of all that was stored', async () => {
  const inbox = await opened();
  const events = orderEvents(400);
  await Promise.all(events.map((event) => inbox.accept(event, later())));
  const over = new AbortController();
  const handling = (async () => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      await inbox.accept(incoming({ id: `new_${n}`, type: 'order.ready' }), later());
      for (const { lease } of await inbox.claim({ ...ANY, types: ['order.created'], now: START + 1 }, 5)) {
        const ending = n % 2 === 0 ? ({ outcome: 'processed' } as const) : FAILED;
        await inbox.settle(lease, ending, START + 2);
      }
    }
  })();
  for (let round = 0; round < 5; round += 1) {
    const told = new Map(
      (await exported(inbox)).flatMap((line) => {
        const { event } = JSON.parse(line) as {
          event?: { id: string; state: string; begun: number; attempts: unknown[] };
        };
        return event === undefined ? [] : [[event.id, event] as const];
      }),
    );
    for (const { id } of events) {
      const event = told.get(id);
      const settled = event?.state === 'processed' || event?.state === 'dead';
      const expected = settled ? [1, 1] : event?.state === 'processing' ? [1, 0] : [0, 0];
      expect([id, event?.begun, event?.attempts.length]).toEqual([id, ...expected]);
    }
  }
  over.abort();
  await handling;
});

it('a mark of an entity with a very long name goes along, by the event that says it', async () => {
  const inbox = await opened();
  const order = 'x'.repeat(400);
  await handled(inbox, { outcome: 'processed' }, orderEvent('new', { order, createdAt: 9 }));
  const lines = await exported(inbox);
  expect(lines.filter((line) => line.startsWith('{"mark"')).map((line) => JSON.parse(line) as unknown)).toEqual([
    { mark: { entity: `order::${order}`, endpoint: 'default', created: { ms: START + 9_000, ns: 0 } } },
  ]);
  const file = fileInbox();
  await importEvents(file, lines, ADA, OURS);
  await store(file, orderEvent('old', { order, createdAt: 1 }));
  expect(await file.claim({ ...ANY, now: START + 1 }, 1)).toMatchObject([{ id: 'old', superseded: true }]);
});

it('a backup is refused, and the refusal says what to use; how large the tables are is known', async () => {
  const inbox = await opened();
  await store(inbox, orderEvent('evt'));
  await expect(backup(inbox, scratchFile(), ADA)).rejects.toThrow('pg_dump');
  expect((await auditLines(inbox)).lines).toMatchObject([{ act: 'backup', counts: { failed: 1 } }]);
  expect(await operationsOf(inbox).bytes()).toBeGreaterThan(50_000);
});

function fileInbox(): Inbox {
  const inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  return inbox;
}

/** Reruns a processed event, and processes an event after two failures. */
async function moreOf(inbox: Inbox): Promise<void> {
  await handled(inbox, { outcome: 'processed' }, orderEvent('rerun twice'));
  await operationsOf(inbox).act('rerun', [orderEvent('rerun twice')], ADA, { force: true });
  await handleAgain(inbox, { outcome: 'interrupted' }, orderEvent('rerun twice'));
  await handleAgain(inbox, { outcome: 'processed' }, orderEvent('rerun twice'));
  await handled(inbox, FAILED, orderEvent('discarded'));
  await operationsOf(inbox).act('discard', [orderEvent('discarded')], ADA, {});
  await store(inbox, orderEvent('running'));
  // A running event is pending and due in another inbox.
  const claimed = await inbox.claimOne(orderEvent('running'), { ...ANY, now: START + 1 });
  if (typeof claimed !== 'string') await inbox.settle(claimed.lease, { outcome: 'processed' }, START + 2);
}
