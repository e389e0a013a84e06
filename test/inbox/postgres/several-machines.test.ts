// @module-tag longest
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING, type ClaimedEvent, type Settlement } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { times } from '../../helpers/times.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { gatedPool, rewrittenPool } from './pools.ts';

const schema = schemaName();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl(), max: 20 });
  await using inbox = machine();
  await inbox.list();
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(() => emptySchema(pool, schema));

/** Machines share only the tables. */
function machine(): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
}

const ERROR = { name: 'Error', message: 'again', stack: null };

it('a cursor beside four who write misses nothing, and sees each event once', async () => {
  const writers = Array.from({ length: 4 }, () => machine());
  await using reader = machine();
  const each = times(400, 150);
  let writing = writers.length;
  const written = writers.map(async (inbox, w) => {
    for (let n = 0; n < each; n += 5) {
      const events = Array.from({ length: 5 }, (_, k) => incoming({ id: `w${w}-${n + k}`, entity: null }));
      await Promise.all(events.map((event) => inbox.accept(event, later())));
    }
    writing -= 1;
  });
  const seen: string[] = [];
  for (let after = 0, isLast = false; ;) {
    isLast = writing === 0;
    const page = await reader.list({ after, limit: 7 });
    seen.push(...page.map(({ id }) => id));
    after = page.at(-1)?.seq ?? after;
    if (isLast && page.length === 0) break;
  }
  await Promise.all(written);
  await Promise.all(writers.map((inbox) => inbox.close()));
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toHaveLength(4 * each);
});

async function work(inbox: Inbox<PoolClient>, running: Running, count: number, random: () => number) {
  const request = { ...EVERYTHING, leaseMs: 60_000, ordered: true };
  while (running.processed.length < count && !running.isStuck) {
    const claimed = await inbox.claim({ ...request, now: Date.now() }, 5);
    running.looked(inbox, claimed.length);
    if (claimed.length === 0) await delay(2);
    await Promise.all(
      claimed.map(async (event) => {
        running.begin(event);
        await delay(random() * 4);
        running.end(event);
        const settlement: Settlement =
          random() < 0.2 ? { outcome: 'retry', error: ERROR, dueAt: Date.now() } : { outcome: 'processed' };
        if (settlement.outcome === 'processed') running.processed.push(event.id);
        if (!(await inbox.settle(event.lease, settlement, Date.now())))
          running.wrong.push(`${event.id} lost its lease`);
        running.moved();
      }),
    );
  }
}

/** If every machine has found nothing so often, no event is due any more. */
const MOST_LOOKS = 300;

class Running {
  readonly wrong: string[] = [];
  readonly processed: string[] = [];
  readonly #entities = new Set<string>();
  readonly #vain = new Map<object, number>();
  readonly #machines: number;

  constructor(machines: number) {
    this.#machines = machines;
  }

  looked(machine: object, found: number): void {
    if (found > 0) this.moved();
    else this.#vain.set(machine, (this.#vain.get(machine) ?? 0) + 1);
  }

  moved(): void {
    this.#vain.clear();
  }

  get isStuck(): boolean {
    const looks = [...this.#vain.values()];
    return looks.length === this.#machines && Math.min(...looks) >= MOST_LOOKS;
  }

  begin({ id }: ClaimedEvent): void {
    const entity = entityOf(id);
    if (this.#entities.has(entity)) this.wrong.push(`two events of ${entity} run at once`);
    this.#entities.add(entity);
  }

  end({ id }: ClaimedEvent): void {
    this.#entities.delete(entityOf(id));
  }
}

const entityOf = (id: string): string => id.split('-')[0] ?? '';

it('five machines run one event of an entity at a time, in their order, and nothing is stuck', async () => {
  const inboxes = Array.from({ length: 5 }, () => machine());
  const entities = 6;
  const each = times(60, 25);
  const [first] = inboxes;
  if (first === undefined) throw new Error('there is one');
  await first.announce(EVERYTHING, Date.now(), null);
  for (let n = 0; n < each; n += 1) {
    const events = Array.from({ length: entities }, (_, e) =>
      incoming({ id: `e${e}-${n}`, entity: `e${e}`, created: { ms: n, ns: 0 }, receivedAt: Date.now() }),
    );
    await Promise.all(events.map((event) => first.accept(event, later())));
  }
  const running = new Running(inboxes.length);
  await Promise.all(inboxes.map((inbox) => work(inbox, running, entities * each, Math.random)));
  expect(running.wrong).toEqual([]);
  expect(running.processed).toHaveLength(entities * each);
  for (let e = 0; e < entities; e += 1) {
    const order = running.processed.filter((id) => entityOf(id) === `e${e}`);
    expect(order).toEqual(Array.from({ length: each }, (_, n) => `e${e}-${n}`));
  }
  expect((await pool.query(`SELECT 1 FROM ${tablesIn(schema).queue}`)).rows).toEqual([]);
  await Promise.all(inboxes.map((inbox) => inbox.close()));
});

it('suspects of several machines run one at a time', async () => {
  const inboxes = Array.from({ length: 5 }, () => machine());
  const [first] = inboxes;
  if (first === undefined) throw new Error('there is one');
  const events = Array.from({ length: 10 }, (_, n) => incoming({ id: `s${n}-0`, entity: `s${n}`, receivedAt: 0 }));
  await Promise.all(events.map((event) => first.accept(event, later())));
  const request = { ...EVERYTHING, ordered: true };
  expect(await first.claim({ ...request, now: 1_000, leaseMs: 1 }, 10)).toHaveLength(10);
  const claim = (inbox: Inbox<PoolClient>) => inbox.claim({ ...request, now: 2_000, leaseMs: 60_000 }, 1);
  // From here on, all are suspects.
  await first.claim({ ...request, types: [], now: 2_000, leaseMs: 60_000 }, 1);
  // One machine has chosen but not committed while the others choose.
  const gate = Promise.withResolvers<void>();
  const slow = gatedPool(pool, (text) => (text === 'COMMIT' ? gate.promise : null));
  await using late = inboxOnPostgres<PoolClient>({ pool: slow }, { ...SETTINGS, schema });
  const claims = [claim(late)];
  await delay(200);
  claims.push(...inboxes.map(claim));
  await delay(200);
  gate.resolve();
  expect((await Promise.all(claims)).flat()).toHaveLength(1);
  await Promise.all(inboxes.map((inbox) => inbox.close()));
});

it('a machine that stands still half way through a claim holds up nobody for good, and finds out when it goes on', async () => {
  const timeout = /(idle_in_transaction_session_timeout = )'15s'/;
  const impatient = rewrittenPool(pool, (text) => text.replace(timeout, `$1'300ms'`));
  const atCommit = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isStopped = false;
  const stopped = gatedPool(impatient, (text) => {
    if (text !== 'COMMIT' || !isStopped) return null;
    atCommit.resolve();
    return goOn.promise;
  });
  await using still = inboxOnPostgres<PoolClient>({ pool: stopped }, { ...SETTINGS, schema });
  await using other = machine();
  await other.accept(incoming({ id: 'e-0', entity: 'e', receivedAt: 1 }), later());
  const request = { ...EVERYTHING, now: 2_000, leaseMs: 60_000, ordered: true };
  isStopped = true;
  const late = still.claim(request, 1);
  await atCommit.promise;
  expect(await other.claim(request, 1)).toEqual([]);
  await expect.poll(async () => (await other.claim(request, 1)).length).toBe(1);
  isStopped = false;
  goOn.resolve();
  // Its transaction is gone, and the events are leased.
  expect(await late).toEqual([]);
});

it('the same events from four machines at once are stored once each', async () => {
  const inboxes = Array.from({ length: 4 }, () => machine());
  const events = Array.from({ length: 40 }, (_, n) => incoming({ id: `evt_${n}`, body: `{"n":${n}}` }));
  const results = await Promise.all(
    inboxes.flatMap((inbox, at) => {
      const order = at % 2 === 0 ? events : events.toReversed();
      return order.map((event) => inbox.accept(event, later()));
    }),
  );
  expect(results.filter(({ result }) => result === 'stored')).toHaveLength(40);
  expect(results.filter(({ conflict }) => conflict)).toHaveLength(0);
  const stored = await inboxes[0]?.list();
  expect(stored?.map(({ redeliveries }) => redeliveries.count)).toEqual(events.map(() => 3));
  await Promise.all(inboxes.map((inbox) => inbox.close()));
});

it('machines whose clocks are hours apart take one another for no one that is late', async () => {
  const { databaseTime } = await import('../../../src/inbox/postgres/database-time.ts');
  const real = () => inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema, time: databaseTime() });
  await using ahead = real();
  await using behind = real();
  const hours = 3 * 3_600_000;
  const clock = Date.now;
  /** The machine's clock differs by `offset`. */
  async function on<T>(offset: number, ask: (now: number) => Promise<T>): Promise<T> {
    Date.now = () => clock() + offset;
    try {
      return await ask(Date.now());
    } finally {
      Date.now = clock;
    }
  }
  await on(hours, (now) => ahead.accept(incoming({ receivedAt: now }), later()));
  const request = { ...EVERYTHING, leaseMs: 60_000, ordered: true };
  const [claimed] = await on(-hours, (now) => behind.claim({ ...request, now }, 1));
  expect(claimed).toMatchObject({ id: 'evt_1' });
  expect(await on(hours, (now) => ahead.claim({ ...request, now }, 1))).toEqual([]);
  const due = await on(hours, async (now) => [((await ahead.nextDue(EVERYTHING)) ?? 0) - now]);
  expect(due[0]).toBeGreaterThan(0);
  expect(due[0]).toBeLessThanOrEqual(60_000 + 5);
  if (claimed === undefined) throw new Error('nothing was claimed');
  const retry = (now: number): Settlement => ({ outcome: 'retry', error: ERROR, dueAt: now + 30_000 });
  expect(await on(-hours, (now) => behind.settle(claimed.lease, retry(now), now))).toBe(true);
  const next = await on(hours, async (now) => ((await ahead.nextDue(EVERYTHING)) ?? 0) - now);
  expect(next).toBeGreaterThan(0);
  expect(next).toBeLessThanOrEqual(30_000 + 5);

  // Each machine gets times of its own clock.
  await on(-hours, (now) => behind.accept(incoming({ receivedAt: now }), later()));
  for (const [offset, inbox] of [
    [hours, ahead],
    [-hours, behind],
  ] as const) {
    const [listed, stored, attempts] = await on(offset, async () => [
      await inbox.list(),
      await inbox.get(incoming()),
      await inbox.attempts(incoming()),
    ]);
    const times = [listed[0]?.receivedAt, stored?.receivedAt, stored?.redeliveries.firstAt, attempts[0]?.endedAt];
    for (const at of times) expect(Math.abs((at?.getTime() ?? 0) - clock() - offset)).toBeLessThan(hours / 2);
  }
});

it('a claimed event says when it arrived by the clock of the machine that claims it', async () => {
  const { timeApart } = await import('../../../src/inbox/postgres/database-time.ts');
  const hours = 3 * 3_600_000;
  await using receives = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  await using claims = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema, time: timeApart(hours) });
  const now = START - hours;
  const request = { ...EVERYTHING, now, leaseMs: 60_000, ordered: true };
  for (const id of ['one', 'other']) await receives.accept(incoming({ id, entity: id, receivedAt: START }), later());
  const claimed = [
    await claims.claimOne({ endpoint: 'default', id: 'one' }, request),
    ...(await claims.claim(request, 1)),
  ];
  expect(claimed).toMatchObject(['one', 'other'].map((id) => ({ id, receivedAt: new Date(now) })));
});
