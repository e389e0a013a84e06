/** Written rows prove that an event was processed. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { discardEvents, rerunEvents } from '../../../src/ops/act-on-events.ts';
import { eraseEntity } from '../../../src/ops/erase.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { ANY, FAILED, handleAgain, handled, invalidThen } from '../../ops/events-in-states.ts';
import { found } from '../../ops/found-pages.ts';
import { operatedInboxes } from './operators.ts';
import { proxiedPool } from './pools.ts';

const schema = operatedInboxes();
const BY = { actor: 'ada', reason: 'a test' };
const key = (id: string) => ({ endpoint: 'default', id });
const PROCESSED = { outcome: 'processed' } as const;

async function emptied(): Promise<Inbox> {
  const inbox = await schema().open();
  onTestFinished(() => inbox.close());
  return inbox;
}

/** As by hand, after a crash of an UNLOGGED table, or by a policy. */
async function lose(table: 'queue' | 'shelf' | 'attempts' = 'queue'): Promise<void> {
  const { pool, t } = schema();
  await pool.query(`DELETE FROM ${t[table]}`);
}

async function stateOf(inbox: Inbox, id: string): Promise<unknown> {
  const event = await inbox.get(key(id));
  return [event?.state, event?.deadReason];
}

describe('an event whose row was taken away', () => {
  it.each(['queue', 'shelf'] as const)('from %s is dead, and not processed', async (table) => {
    const inbox = await emptied();
    if (table === 'queue') await inbox.accept(orderEvent('evt_1'), later());
    else await handled(inbox, FAILED, orderEvent('evt_1'));
    await lose(table);
    expect(await stateOf(inbox, 'evt_1')).toEqual(['dead', 'crashed']);
    expect(await inbox.operations?.summary(key('evt_1'))).toMatchObject({ state: 'dead', deadReason: 'crashed' });
  });

  it('is dead and invalid where it fitted no schema', async () => {
    const inbox = await emptied();
    await inbox.accept(invalidThen(orderEvent('evt_1')), later());
    await lose('shelf');
    expect(await stateOf(inbox, 'evt_1')).toEqual(['dead', 'invalid']);
  });

  it('after a rerun of what was processed is dead too', async () => {
    const inbox = await emptied();
    await handled(inbox, PROCESSED, orderEvent('evt_1'));
    await rerunEvents(inbox, [key('evt_1')], BY, { force: true });
    await lose();
    expect(await stateOf(inbox, 'evt_1')).toEqual(['dead', 'crashed']);
  });

  it('is found among the dead ones once it is redelivered', async () => {
    const inbox = await emptied();
    await inbox.accept(orderEvent('evt_1'), later());
    await lose();
    expect(await found(inbox, { states: ['dead'] })).toEqual([]);
    expect(await inbox.accept(orderEvent('evt_1'), later())).toMatchObject({ result: 'duplicate' });
    expect(await found(inbox, { states: ['dead'] })).toEqual(['evt_1']);
  });

  it('is rerun, and goes on with the next number', async () => {
    const inbox = await emptied();
    await handled(
      inbox,
      { outcome: 'retry', error: { name: 'Error', message: 'no', stack: null }, dueAt: START },
      orderEvent('evt_1'),
    );
    await lose();
    expect(await rerunEvents(inbox, [key('evt_1')], BY)).toMatchObject({ counts: { done: 1 } });
    await handleAgain(inbox, PROCESSED, orderEvent('evt_1'));
    expect(await stateOf(inbox, 'evt_1')).toEqual(['processed', null]);
    expect((await inbox.attempts(key('evt_1'))).map(({ number, outcome }) => [number, outcome])).toEqual([
      [1, 'failed'],
      [2, 'processed'],
    ]);
  });

  it('holds nobody back: what waited for it goes on with the next announcement', async () => {
    const inbox = await emptied();
    const [first, second] = [1, 2].map((n) => orderEvent(`evt_${n}`, { order: 'ord_1', createdAt: n }));
    if (first === undefined || second === undefined) throw new Error('two events');
    const request = { ...EVERYTHING, leaseMs: 60_000, ordered: true };
    await inbox.announce(EVERYTHING, START, null);
    for (const event of [first, second]) await inbox.accept(event, later());
    const [claimed] = await inbox.claim({ ...request, now: START }, 10);
    if (claimed === undefined) throw new Error('nothing was claimed');
    const error = { name: 'Error', message: 'no', stack: null };
    await inbox.settle(claimed.lease, { outcome: 'retry', error, dueAt: START + 3_600_000 }, START + 1);
    expect(await inbox.claim({ ...request, now: START + 2 }, 10)).toEqual([]);
    await schema().pool.query(`DELETE FROM ${schema().t.queue} WHERE seq = 1`);
    await inbox.announce(EVERYTHING, START + 300_000, null);
    const next = await inbox.claim({ ...request, now: START + 300_001 }, 10);
    expect(next.map(({ id }) => id)).toEqual(['evt_2']);
  });

  it('runs at the next delivery in inline mode', async () => {
    const inbox = await emptied();
    await inbox.accept(orderEvent('evt_1'), later());
    await lose();
    await handleAgain(inbox, PROCESSED, orderEvent('evt_1'));
    expect(await stateOf(inbox, 'evt_1')).toEqual(['processed', null]);
  });

  it('is discarded and erased', async () => {
    const inbox = await emptied();
    for (const id of ['evt_1', 'evt_2']) await inbox.accept(orderEvent(id), later());
    await lose();
    expect(await discardEvents(inbox, [key('evt_1')], BY)).toMatchObject({ counts: { done: 1 } });
    expect(await stateOf(inbox, 'evt_1')).toEqual(['discarded', null]);
    expect(await eraseEntity(inbox, 'evt_2', BY)).toMatchObject({ erased: 1 });
    expect(await inbox.get(key('evt_2'))).toMatchObject({ state: 'dead', body: null });
  });
});

describe('what was processed is proved', () => {
  it('by its attempt, and by being a tombstone', async () => {
    const inbox = await emptied();
    await handled(inbox, PROCESSED, orderEvent('evt_1'), orderEvent('evt_2'));
    await inbox.prune('*', START + 1_000, 1);
    expect(await stateOf(inbox, 'evt_1')).toEqual(['processed', null]);
    expect(await stateOf(inbox, 'evt_2')).toEqual(['processed', null]);
    // Without attempts there is no proof, but hookbox does not run the event again.
    await lose('attempts');
    expect(await stateOf(inbox, 'evt_2')).toEqual(['dead', 'crashed']);
    expect(await inbox.claim({ ...EVERYTHING, ...ANY, now: START + 10 }, 10)).toEqual([]);
  });
});

describe('an event is not acknowledged whose place is not written', () => {
  it.each(['queue', 'shelf'] as const)('as a trigger keeps it from %s', async (table) => {
    const inbox = await emptied();
    const { pool, t, name } = schema();
    await inbox.list();
    const swallow = `"${name}".swallow`;
    await pool.query(`
      CREATE FUNCTION ${swallow}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER swallow BEFORE INSERT ON ${t[table]} FOR EACH ROW EXECUTE FUNCTION ${swallow}()`);
    onTestFinished(async () => {
      await pool.query(`DROP FUNCTION ${swallow}() CASCADE`);
    });
    const event = table === 'queue' ? orderEvent('evt_1') : invalidThen(orderEvent('evt_1'));
    await expect(inbox.accept(event, later())).rejects.toMatchObject({
      code: 'FAILED',
      message: expect.stringMatching(/without its row in the table queue or shelf.*hookbox doctor/),
    });
    expect(await inbox.get(key('evt_1'))).toBeNull();
  });
});

describe('once a day', () => {
  interface Problem {
    readonly what: string;
    readonly advice: string;
  }

  async function upkeep(inbox: Inbox): Promise<readonly Problem[]> {
    const told: Problem[] = [];
    await inbox.upkeep?.({ now: () => START, isOpen: () => true, report: (problem) => void told.push(problem) });
    return told;
  }

  const tomorrow = () => schema().pool.query(`UPDATE ${schema().t.progress} SET seq = seq - 1 WHERE what LIKE '%day'`);

  it('one process tells of lost events, with the line that puts them among the dead', async () => {
    const inbox = await emptied();
    await handled(inbox, PROCESSED, orderEvent('evt_0'));
    for (let n = 1; n <= 5; n += 1) await inbox.accept(orderEvent(`evt_${n}`), later());
    await lose();
    await inbox.accept(orderEvent('evt_6'), later());
    await inbox.accept(invalidThen(orderEvent('evt_7')), later());
    const told = await upkeep(inbox);
    expect(told).toEqual([
      {
        what: expect.stringContaining('5 events that were acknowledged (evt_1, evt_2, evt_3 and others)'),
        advice: expect.any(String),
      },
    ]);
    // Later looks have nothing to add.
    expect(await upkeep(schema().join())).toEqual([]);
    expect(await upkeep(inbox)).toEqual([]);

    const line = /INSERT INTO [^;]+/.exec(told[0]?.advice ?? '')?.[0] ?? '';
    await schema().pool.query(line);
    expect((await found(inbox, { states: ['dead'], deadReasons: ['crashed'] })).toSorted()).toEqual([
      'evt_1',
      'evt_2',
      'evt_3',
      'evt_4',
      'evt_5',
    ]);
    await tomorrow();
    expect(await upkeep(inbox)).toEqual([]);
  });

  it('it tells what the tables have become since they were opened', async () => {
    const inbox = await emptied();
    await inbox.list();
    const { pool, t } = schema();
    await pool.query(`ALTER TABLE ${t.shelf} SET UNLOGGED`);
    onTestFinished(() => pool.query(`ALTER TABLE ${t.shelf} SET LOGGED`).then(() => {}));
    expect(await upkeep(inbox)).toEqual([
      {
        code: 'NOT_DURABLE',
        what: expect.stringContaining('UNLOGGED'),
        advice: `Run: ALTER TABLE "${schema().name}"."shelf" SET LOGGED`,
      },
    ]);
  });

  it('what operators find is kept up also where that look fails', async () => {
    const { pool, t, join } = schema();
    await emptied();
    const failing = proxiedPool(pool, (client) => ({
      query: (asked) =>
        asked.text.endsWith('AS looked') ? Promise.reject(new Error('it takes too long')) : client.query(asked),
    }));
    const inbox = join(failing);
    onTestFinished(() => inbox.close());
    await inbox.accept(orderEvent('evt_1'), later());
    await expect(upkeep(inbox)).rejects.toThrow('the connection to Postgres failed');
    expect((await pool.query(`SELECT 1 FROM ${t.unindexed}`)).rowCount).toBe(0);
  });
});
