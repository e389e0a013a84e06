import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { realClock, type TimeSource } from '../../src/sandbox/clock.ts';
import { countDeliveries, listDeliveries, listTries } from '../../src/sandbox/delivery-list.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { endpoint } from '../sender/endpoint.ts';
import { HOUR, MINUTE, openShop, START, type Shop } from './shop.ts';

/** The test sets the time of day; real time passes. */
function machine(): TimeSource & { set(ms: number): void } {
  let setBy = 0;
  const begun = performance.now();
  const timePassed = (): number => performance.now() - begun;
  return {
    timePassed,
    timeOfDay: () => START + Math.floor(timePassed()) + setBy,
    set: (ms) => void (setBy += ms),
  };
}

const states = ({ store }: Shop) => listDeliveries(store).map(({ state, tries }) => `${state} after ${tries}`);
const eventually = (shop: Shop) => expect.poll(() => states(shop));

describe('on a real clock', () => {
  it('what happens is delivered by itself, and tried again at once when it fails', async () => {
    let calls = 0;
    await using server = await endpoint(() => ((calls += 1) === 1 ? 500 : 200));
    await using shop = openShop({ webhooks: [{ to: server.url }], clock: realClock() });
    const id = shop.sell();
    await eventually(shop).toEqual(['delivered after 2']);
    expect(server.arrived.map(({ body }) => (JSON.parse(String(body)) as { id: string }).id)).toEqual([id, id]);
  });

  it('what is due now has happened when advance(0) ends, however the clock goes on meanwhile', async () => {
    let passed = 0;
    const source: TimeSource = { timeOfDay: () => START + (passed += 10), timePassed: () => passed };
    await using shop = openShop({ webhooks: [{ to: () => new Response(), as: 'fetch' }], clock: realClock(source) });
    shop.sell();
    await shop.dispatch.advance(0);
    expect(states(shop)).toEqual(['delivered after 1']);
  });

  it('what fails while the clock is moved is tried by its schedule on the way, until it is a dead letter', async () => {
    const slow = async () => {
      await sleep(3);
      return new Response(null, { status: 503 });
    };
    await using shop = openShop({ webhooks: [{ to: slow }], clock: realClock() });
    shop.sell();
    shop.sellAt(shop.store.clock.now() + HOUR);
    await shop.dispatch.advance('3 d');
    expect(states(shop)).toEqual(['dead after 7', 'dead after 7']);
    const times = listTries(shop.store, 1).map(({ at }) => at.getTime());
    const hours = times.map((at) => Math.floor((at - (times[0] ?? 0)) / HOUR));
    expect(hours).toEqual([0, 0, 0, 0, 1, 7, 31]);
  });

  it('what falls due happens by itself', async () => {
    const arrived: string[] = [];
    const to = async (request: Request) => {
      arrived.push(((await request.json()) as { created: string }).created);
      return new Response();
    };
    const source = machine();
    await using shop = openShop({ webhooks: [{ to }], clock: realClock(source) });
    const at = shop.store.clock.now() + 30;
    shop.sellAt(at);
    await eventually(shop).toEqual(['delivered after 1']);
    expect(Date.parse(arrived[0] ?? '')).toBeGreaterThanOrEqual(at);
  });

  it.each([
    ['moved by hand', (shop: Shop) => shop.dispatch.advance('5 min')],
    [
      'set ahead, as when the machine has slept',
      async (_: Shop, source: ReturnType<typeof machine>) => source.set(5 * MINUTE),
    ],
  ])('what waits comes when the clock is %s', async (_, move) => {
    let isUp = false;
    const source = machine();
    const to = async () => new Response(null, { status: isUp ? 200 : 503 });
    await using shop = openShop({ webhooks: [{ to }], clock: realClock(source) });
    shop.sell();
    await eventually(shop).toEqual(['waiting after 2']);
    isUp = true;
    await move(shop, source);
    await eventually(shop).toEqual(['delivered after 3']);
  });

  it('what waits comes by its schedule, when the clock of the machine is set back as well', async () => {
    let isUp = false;
    const source = machine();
    const to = async () => new Response(null, { status: isUp ? 200 : 503 });
    await using shop = openShop({ webhooks: [{ to }], clock: realClock(source) });
    shop.sell();
    await eventually(shop).toEqual(['waiting after 2']);
    source.set(-24 * HOUR);
    isUp = true;
    shop.sell();
    await eventually(shop).toEqual(['delivered after 1', 'waiting after 2']);
    await shop.dispatch.advance('5 min');
    await eventually(shop).toEqual(['delivered after 1', 'delivered after 3']);
    const created = listDeliveries(shop.store).map(({ event }) => event.createdAt.getTime());
    expect(created).toEqual(created.toSorted((a, b) => b - a));
    for (const at of created) expect(at).toBeGreaterThanOrEqual(START);
  });

  it('a file that was written by a clock that went ahead goes on from there', async () => {
    const file = scratchFile();
    const ahead = machine();
    ahead.set(30 * 24 * HOUR);
    const to = async () => new Response(null, { status: 503 });
    const before = openShop({ webhooks: [{ to }], clock: realClock(ahead), file });
    before.sell();
    await eventually(before).toEqual(['waiting after 2']);
    await before[Symbol.asyncDispose]();

    await using shop = openShop({ webhooks: [{ to: async () => new Response() }], clock: realClock(machine()), file });
    await shop.dispatch.advance('5 min');
    await eventually(shop).toEqual(['delivered after 3']);
  });

  it('one that does not answer holds up nobody else', async () => {
    await using silent = await endpoint(() => {});
    await using server = await endpoint();
    await using shop = openShop({
      webhooks: [{ to: silent.url }, { to: server.url }],
      clock: realClock(),
      concurrency: 2,
      timeoutMs: 600_000,
    });
    for (let n = 0; n < 20; n += 1) shop.sell();
    await expect.poll(() => server.arrived.length).toBe(20);
    expect(silent.arrived).toHaveLength(2);
  });

  it('so many requests to one endpoint are under way and no more, and they begin in order', async () => {
    let isUnderWay = 0;
    let most = 0;
    const ids: string[] = [];
    const to = async (request: Request) => {
      ids.push(((await request.json()) as { id: string }).id);
      isUnderWay += 1;
      most = Math.max(most, isUnderWay);
      await sleep(2);
      isUnderWay -= 1;
      return new Response();
    };
    await using shop = openShop({ webhooks: [{ to }], clock: realClock(), concurrency: 3 });
    const sold = Array.from({ length: 30 }, () => shop.sell());
    await expect.poll(() => listDeliveries(shop.store, { state: 'delivered' }).length).toBe(30);
    expect(most).toBe(3);
    expect(ids).toEqual(sold);
  });

  it('who moves the clock waits for what was due, and not for what goes on happening', async () => {
    const to = async (): Promise<Response> => {
      shop.sell();
      return new Response();
    };
    await using shop = openShop({ webhooks: [{ to }], clock: realClock() });
    shop.sell();
    await shop.dispatch.advance('1 h');
    const { delivered } = countDeliveries(shop.store);
    expect(delivered).toBeGreaterThan(0);
    await expect.poll(() => countDeliveries(shop.store).delivered).toBeGreaterThan(delivered);
  });

  it('a step that fails is told of, and tried again', async () => {
    let runs = 0;
    const steps = {
      broken() {
        runs += 1;
        if (runs === 1) throw new Error('out of paper');
      },
    };
    await using shop = openShop({ clock: realClock(), steps });
    shop.store.write((transaction) => {
      transaction.run("INSERT INTO due (at, kind, subject, lane) VALUES (?, 'broken', 'x', '')", transaction.now);
    });
    await expect.poll(() => runs).toBe(2);
    expect(shop.failures.map(String)).toEqual(['Error: out of paper']);
    await expect.poll(() => shop.store.all('SELECT * FROM due')).toEqual([]);
  });
});

describe('a sandbox that is closed', () => {
  it('waits for answers that are on their way, and keeps them', async () => {
    const file = scratchFile();
    await using server = await endpoint((_, response) => void setTimeout(() => response.writeHead(200).end(), 100));
    const shop = openShop({ webhooks: [{ to: server.url }], clock: realClock(), file });
    shop.sell();
    await expect.poll(() => server.arrived.length).toBe(1);
    await shop[Symbol.asyncDispose]();
    await using again = openShop({ webhooks: [{ to: server.url }], file });
    expect(states(again)).toEqual(['delivered after 1']);
  });

  it('does not wait for a receiver that never answers: what was under way is redelivered by the next', async () => {
    const file = scratchFile();
    await using server = await endpoint((request, response) => {
      if (server.arrived.length > 1) response.writeHead(200).end();
    });
    const shop = openShop({ webhooks: [{ to: server.url }], clock: realClock(), file });
    shop.sell();
    await expect.poll(() => server.arrived.length).toBe(1);
    await shop[Symbol.asyncDispose]();

    await using again = openShop({ webhooks: [{ to: server.url }], file });
    expect(states(again)).toEqual(['waiting after 0']);
    await again.dispatch.advance(0);
    expect(states(again)).toEqual(['delivered after 1']);
    expect(listTries(again.store, 1)).toHaveLength(1);
  });

  it('says so to who moves its clock', async () => {
    const shop = openShop();
    await shop[Symbol.asyncDispose]();
    await expect(shop.dispatch.advance(0)).rejects.toThrow('closed');
  });

  it('keeps what is given in code as the same endpoint, and removes what is not given any more', async () => {
    const file = scratchFile();
    await using server = await endpoint(() => 503);
    const local = async () => new Response(null, { status: 503 });
    const before = openShop({ webhooks: [{ to: server.url, secret: 'old' }, { to: local }], file });
    before.sell();
    await before.dispatch.advance(0);
    const endpoints = new Set(listDeliveries(before.store).map(({ endpoint: id }) => id));
    await before[Symbol.asyncDispose]();

    await using shop = openShop({ webhooks: [{ to: server.url, secret: 'new' }], file });
    await shop.dispatch.advance('5 min');
    expect(states(shop).toSorted()).toEqual(['dropped after 2', 'waiting after 3']);
    shop.sell();
    const [newest] = listDeliveries(shop.store);
    expect(endpoints.has(newest?.endpoint ?? '')).toBe(true);
  });
});
