import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseEvent } from '../../src/index.ts';
import { addDeliveryFault } from '../../src/sandbox/deliveries.ts';
import { listDeliveries, listTries } from '../../src/sandbox/delivery-list.ts';
import { addEndpoint, changeEndpoint, listEndpoints, removeEndpoint } from '../../src/sandbox/endpoints.ts';
import { FAULT_KINDS } from '../../src/sender/faults.ts';
import { endpoint, nobody, type Behaviour } from '../sender/endpoint.ts';
import { HOUR, MINUTE, openShop, SECRET, START, type Shop } from './shop.ts';

interface Arrival {
  readonly id: string;
  readonly at: number;
  readonly body: string;
  readonly signature: string | null;
}

function scripted(answer: (arrival: Arrival) => number | Promise<number> = () => 200) {
  const arrived: Arrival[] = [];
  let now = () => 0;
  const to = async (request: Request): Promise<Response> => {
    const body = await request.text();
    const { id } = JSON.parse(body) as { id: string };
    const arrival = { id, at: now(), body, signature: request.headers.get('X-Signature') };
    arrived.push(arrival);
    return new Response(null, { status: await answer(arrival) });
  };
  return {
    to,
    arrived,
    ids: () => arrived.map(({ id }) => id),
    /** In minutes since the start. */
    minutes: () => arrived.map(({ at }) => (at - START) / MINUTE),
    watch: ({ store }: Shop) => void (now = () => store.clock.now()),
  };
}

const hmac = (body: string, secret: string): string => createHmac('sha256', secret).update(body).digest('hex');

const only = ({ store }: Shop) => {
  const [delivery, ...others] = listDeliveries(store);
  if (delivery === undefined || others.length > 0) throw new Error('not one delivery');
  return { ...delivery, log: listTries(store, delivery.id) };
};

/** In minutes (interface 6.4). */
const SCHEDULE = [0, 0, 5, 20, 80, 440, 1_880];

describe('on a frozen clock', () => {
  it('nothing is delivered before the clock is moved, and with it everything that is due, signed', async () => {
    const receiver = scripted();
    await using shop = openShop({ webhooks: [{ to: receiver.to, secret: SECRET }] });
    receiver.watch(shop);
    const sold = [shop.sell(), shop.sell(), shop.sell()];
    await turns();
    expect(receiver.arrived).toEqual([]);
    expect(listDeliveries(shop.store, { state: 'waiting' })).toHaveLength(3);

    await shop.dispatch.advance(0);
    expect(receiver.ids()).toEqual(sold);
    for (const { body, signature } of receiver.arrived) {
      expect(signature).toBe(hmac(body, SECRET));
      const parsed = parseEvent(Buffer.from(body));
      expect(parsed).toMatchObject({ ok: true, known: true, issues: [] });
    }
    await shop.dispatch.advance('10 d');
    expect(receiver.arrived).toHaveLength(3);
  });

  it('what falls due on the way happens at its own time, with what follows from it', async () => {
    const receiver = scripted();
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    receiver.watch(shop);
    shop.sellAt(START + 7 * MINUTE);
    shop.sellAt(START + 3 * MINUTE);
    shop.sellAt(START + 11 * MINUTE);
    await shop.dispatch.advance('10 min');
    expect(receiver.minutes()).toEqual([3, 7]);
    expect(shop.store.clock.now()).toBe(START + 10 * MINUTE);
    const created = receiver.arrived.map(({ body }) => (JSON.parse(body) as { created: string }).created);
    expect(created).toEqual(['2026-01-01T00:03:00.000Z', '2026-01-01T00:07:00.000Z']);
  });

  it('who moves it while it is moved waits', async () => {
    const receiver = scripted();
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    receiver.watch(shop);
    shop.sellAt(START + 3 * MINUTE);
    shop.sellAt(START + 7 * MINUTE);
    await Promise.all([shop.dispatch.advance('5 min'), shop.dispatch.advance('5 min')]);
    expect(receiver.minutes()).toEqual([3, 7]);
    expect(shop.store.clock.now()).toBe(START + 10 * MINUTE);
  });

  it('a step that fails is told to who moves the clock, stays due, and takes its change back', async () => {
    let isBroken = true;
    const steps = {
      broken: () => {
        if (isBroken) throw new Error('out of paper');
      },
    };
    await using shop = openShop({ steps });
    shop.store.write((transaction) => {
      transaction.run("INSERT INTO due (at, kind, subject, lane) VALUES (?, 'broken', 'x', '')", START + MINUTE);
    });
    await expect(shop.dispatch.advance('1 h')).rejects.toThrow('out of paper');
    expect(shop.store.clock.now()).toBe(START + MINUTE);
    isBroken = false;
    await shop.dispatch.advance(0);
    expect(shop.store.all('SELECT * FROM due')).toEqual([]);
  });

  it.each([-1, '-1 min', 'soon', NaN])('it is not moved by %j', async (duration) => {
    await using shop = openShop();
    await expect(shop.dispatch.advance(duration)).rejects.toThrow("a string such as '30 min'");
  });

  it('it is not moved beyond the times that there are, and nothing happens on the way', async () => {
    await using shop = openShop();
    shop.sellAt(START + MINUTE);
    await expect(shop.dispatch.advance('9999999 d')).rejects.toThrow('between the years 1970 and 9999');
    expect(shop.store.clock.now()).toBe(START);
    expect(shop.store.all('SELECT * FROM sales')).toEqual([]);
  });

  it('the same seed and the same calls give the same bytes, and another seed gives others', async () => {
    const run = async (seed: number) => {
      const receiver = scripted(({ id }) => (id.charCodeAt(4) % 3 === 0 ? 503 : 200));
      await using shop = openShop({ webhooks: [{ to: receiver.to, secret: SECRET }], seed });
      receiver.watch(shop);
      shop.store.write((transaction) => FAULT_KINDS.forEach((kind) => addDeliveryFault(transaction, kind, 2)));
      for (let n = 0; n < 20; n += 1) shop.sellAt(START + n * 7 * MINUTE);
      await shop.dispatch.advance('3 d');
      return { arrived: receiver.arrived, tries: shop.store.all('SELECT * FROM tries') };
    };
    const once = await run(5);
    expect(await run(5)).toEqual(once);
    expect(once.arrived.length).toBeGreaterThan(30);
    expect((await run(6)).arrived.map(({ id }) => id)).not.toEqual(once.arrived.map(({ id }) => id));
  });
});

describe('the schedule', () => {
  it('is that of the interface, with the same bytes each time, and ends with a dead letter', async () => {
    const receiver = scripted(() => 500);
    await using shop = openShop({ webhooks: [{ to: receiver.to, secret: SECRET }] });
    receiver.watch(shop);
    shop.sell();
    await shop.dispatch.advance('31 h 19 min');
    expect(only(shop)).toMatchObject({ state: 'waiting', tries: 6, nextAt: new Date(START + 1_880 * MINUTE) });
    await shop.dispatch.advance('1 min');
    expect(receiver.minutes()).toEqual(SCHEDULE);
    expect(only(shop)).toMatchObject({ state: 'dead', tries: 7, nextAt: null });
    expect(only(shop).log.map(({ at }) => (at.getTime() - START) / MINUTE)).toEqual(SCHEDULE);
    await shop.dispatch.advance('30 d');
    expect(receiver.arrived).toHaveLength(7);
    expect(new Set(receiver.arrived.map(({ body, signature }) => `${body}${signature}`)).size).toBe(1);
  });

  it('a receiver that is down for two hours gets everything that is due afterwards, in order and once', async () => {
    const upFrom = START + 2 * HOUR;
    const receiver = scripted(({ at }) => (at < upFrom ? 503 : 200));
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    receiver.watch(shop);
    for (let minute = 0; minute < 180; minute += 9) shop.sellAt(START + minute * MINUTE);
    await shop.dispatch.advance('2 h');
    const whenUp = receiver.arrived.length;
    await shop.dispatch.advance('7 h');

    const delivered = receiver.arrived.slice(whenUp);
    expect(delivered.map(({ at }) => at)).toEqual(delivered.map(({ at }) => at).toSorted((a, b) => a - b));
    expect(new Set(delivered.map(({ id }) => id)).size).toBe(delivered.length);
    expect(listDeliveries(shop.store, { state: 'delivered' })).toHaveLength(20);
    // With the first try of its own schedule after the outage.
    for (const { createdAt, id } of listDeliveries(shop.store).map(({ event }) => event)) {
      const due = SCHEDULE.map((minute) => createdAt.getTime() + minute * MINUTE).find((at) => at >= upFrom);
      expect(delivered.find((arrival) => arrival.id === id)?.at, id).toBe(due);
    }
  });

  it('of what is due at the same time, what happened first comes first', async () => {
    const receiver = scripted(({ at }) => (at < START + MINUTE ? 503 : 200));
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    receiver.watch(shop);
    const sold = Array.from({ length: 30 }, () => shop.sell());
    await shop.dispatch.advance('1 h');
    expect(receiver.ids().slice(-30)).toEqual(sold);
    expect(receiver.minutes().slice(-30)).toEqual(Array.from({ length: 30 }, () => 5));
  });

  it('endpoints have each their own', async () => {
    const [up, down] = [scripted(), scripted(() => 500)];
    await using shop = openShop({ webhooks: [{ to: down.to }, { to: up.to }] });
    down.watch(shop);
    shop.sell();
    await shop.dispatch.advance('1 h');
    expect(up.arrived).toHaveLength(1);
    expect(down.minutes()).toEqual([0, 0, 5, 20]);
  });
});

describe('by hand', () => {
  it('a dead letter is tried once more, and is dead again when that fails', async () => {
    let status = 500;
    const receiver = scripted(() => status);
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    receiver.watch(shop);
    shop.sell();
    await shop.dispatch.advance('3 d');
    const { id } = only(shop);

    expect(shop.dispatch.retry(id)).toBe(true);
    expect(shop.dispatch.retry(id)).toBe(false);
    expect(only(shop)).toMatchObject({ state: 'waiting', nextAt: new Date(START + 72 * HOUR) });
    await shop.dispatch.advance('3 d');
    expect(only(shop)).toMatchObject({ state: 'dead', tries: 8 });
    expect(receiver.minutes().at(-1)).toBe(72 * 60);

    status = 204;
    expect(shop.dispatch.retry(id)).toBe(true);
    await shop.dispatch.advance(0);
    expect(only(shop)).toMatchObject({ state: 'delivered', tries: 9 });
    expect(only(shop).log.map(({ byHand }) => byHand)).toEqual([...Array.from({ length: 7 }, () => false), true, true]);
    expect(shop.dispatch.retry(id)).toBe(false);
  });

  it('what waits for its next try is tried beside the schedule, which goes on', async () => {
    const receiver = scripted(() => 500);
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    receiver.watch(shop);
    shop.sell();
    await shop.dispatch.advance('30 min');
    expect(shop.dispatch.retry(only(shop).id)).toBe(true);
    await shop.dispatch.advance('3 d');
    expect(receiver.minutes()).toEqual([0, 0, 5, 20, 30, 80, 440, 1_880]);
  });

  it('nothing is retried that was never tried, is not there, or is under way', async () => {
    let retried: boolean | null = null;
    const receiver = scripted(() => {
      retried = shop.dispatch.retry(1);
      return 500;
    });
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    shop.sell();
    expect(shop.dispatch.retry(1)).toBe(false);
    expect(shop.dispatch.retry(2)).toBe(false);
    await shop.dispatch.advance(0);
    expect(retried).toBe(false);
  });
});

const MISBEHAVIOUR: readonly (readonly [string, Behaviour, number | null, string])[] = [
  ['answers 500', () => 500, 500, 'answered 500'],
  [
    'redirects',
    (_, response) => void response.writeHead(307, { Location: '/elsewhere' }).end(),
    307,
    'answered 307, but hookbox does not follow redirects',
  ],
  ['resets the connection', (_, response) => void response.socket?.resetAndDestroy(), null, 'connection was cut'],
  ['never answers', () => {}, null, 'no answer within 0.1 s'],
  ['speaks no HTTP', (_, response) => void response.socket?.end('what?\r\n\r\n'), null, 'Parse Error'],
];

describe('a receiver over HTTP', () => {
  it.each(MISBEHAVIOUR)('that %s gets it again, on the schedule', async (_, misbehave, status, why) => {
    let isBad = true;
    // On a slow machine, the others need time.
    const timeoutMs = why.startsWith('no answer') ? 100 : 10_000;
    await using server = await endpoint((request, response) => (isBad ? misbehave(request, response) : 200));
    await using shop = openShop({ webhooks: [{ to: server.url, secret: SECRET }], timeoutMs });
    shop.sell();
    await shop.dispatch.advance('6 min');
    expect(only(shop)).toMatchObject({ state: 'waiting', tries: 3, nextAt: new Date(START + 20 * MINUTE) });
    for (const one of only(shop).log) {
      expect(one).toMatchObject({ status });
      expect(one.why).toContain(why);
    }
    isBad = false;
    await shop.dispatch.advance('15 min');
    expect(only(shop)).toMatchObject({ state: 'delivered', tries: 4 });
    expect(server.arrived).toHaveLength(4);
    const last = server.arrived.at(-1);
    expect(last?.headers['x-signature']).toBe(hmac(String(last?.body), SECRET));
  });

  it('where nobody listens gets it when somebody does', async () => {
    const url = await nobody();
    await using shop = openShop({ webhooks: [{ to: url }] });
    shop.sell();
    await shop.dispatch.advance(0);
    expect(only(shop).log.map(({ why }) => why)).toEqual(['the connection was refused', 'the connection was refused']);
  });

  it('is sent nothing where it has no secret for a signature', async () => {
    await using server = await endpoint();
    await using shop = openShop({ webhooks: [{ to: server.url }] });
    shop.sell();
    await shop.dispatch.advance(0);
    expect(server.arrived[0]?.headers['x-signature']).toBeUndefined();
  });
});

describe('a receiver in this process', () => {
  it('that throws gets it again; what it said may quote a body, and is not kept', async () => {
    const to = async (): Promise<Response> => {
      throw new TypeError('card 4242 of ann@example.com');
    };
    await using shop = openShop({ webhooks: [{ to }] });
    shop.sell();
    await shop.dispatch.advance(0);
    expect(only(shop)).toMatchObject({ state: 'waiting', tries: 2 });
    expect(only(shop).log.map(({ why }) => why)).toEqual([
      'the receiver threw TypeError',
      'the receiver threw TypeError',
    ]);
  });

  it('that does not answer in time gets it again', async () => {
    let calls = 0;
    const to = (): Promise<Response> => ((calls += 1) === 1 ? new Promise(() => {}) : Promise.resolve(new Response()));
    await using shop = openShop({ webhooks: [{ to }], timeoutMs: 50 });
    shop.sell();
    await shop.dispatch.advance(0);
    expect(only(shop)).toMatchObject({ state: 'delivered', tries: 2 });
    expect(only(shop).log[0]?.why).toContain('No answer within 50 ms');
  });
});

describe('endpoints', () => {
  it('get the types that they have chosen', async () => {
    const [all, orders, inventory] = [scripted(), scripted(), scripted()];
    await using shop = openShop({
      webhooks: [
        { to: all.to },
        { to: orders.to, events: ['order.created', 'order.ready'] },
        { to: inventory.to, events: ['inventory.updated'] },
      ],
    });
    shop.sell();
    await shop.dispatch.advance(0);
    expect([all, orders, inventory].map(({ arrived }) => arrived.length)).toEqual([1, 0, 1]);
  });

  it('that are removed get nothing any more, not even what waits for them', async () => {
    const receiver = scripted(() => 500);
    await using shop = openShop({ webhooks: [{ to: receiver.to, secret: SECRET }] });
    shop.sell();
    await shop.dispatch.advance('1 min');
    const [{ id } = { id: '' }] = listEndpoints(shop.store);
    expect(shop.store.write((transaction) => removeEndpoint(transaction, id))).toBe(true);
    shop.sell();
    await shop.dispatch.advance('3 d');
    expect(receiver.arrived).toHaveLength(2);
    expect(only(shop)).toMatchObject({ state: 'dropped', nextAt: null, settledAt: new Date(START + MINUTE) });
    expect(listEndpoints(shop.store)).toEqual([]);
    expect(shop.dispatch.retry(only(shop).id)).toBe(false);
    expect(shop.store.get('SELECT count(*) AS n FROM endpoints WHERE secret IS NOT NULL')).toEqual({ n: 0 });
  });

  it.each([
    [200, 'delivered'],
    [500, 'dropped'],
  ])('that are removed while they answer %d leave it %s', async (status, state) => {
    const receiver = scripted(() => {
      const [{ id } = { id: '' }] = listEndpoints(shop.store);
      shop.store.write((transaction) => removeEndpoint(transaction, id));
      return status;
    });
    await using shop = openShop({ webhooks: [{ to: receiver.to }] });
    shop.sell();
    await shop.dispatch.advance('3 d');
    expect(only(shop)).toMatchObject({ state, tries: 1, nextAt: null });
  });

  it('whose secret is rotated get what waits for them signed with the new one', async () => {
    const receiver = scripted(() => 500);
    await using shop = openShop({ webhooks: [{ to: receiver.to, secret: SECRET }] });
    shop.sell();
    await shop.dispatch.advance(0);
    const [{ id } = { id: '' }] = listEndpoints(shop.store);
    shop.store.write((transaction) => changeEndpoint(transaction, id, { secret: 'another secret' }));
    await shop.dispatch.advance('5 min');
    const signers = receiver.arrived.map(({ body, signature }) =>
      [SECRET, 'another secret'].find((secret) => hmac(body, secret) === signature),
    );
    expect(signers).toEqual([SECRET, SECRET, 'another secret']);
  });

  it('that move get what waits for them where they are now', async () => {
    await using server = await endpoint();
    const url = await nobody();
    await using shop = openShop();
    const id = shop.store.write((transaction) => addEndpoint(transaction, { url, secret: null, events: null }));
    shop.sell();
    await shop.dispatch.advance('1 min');
    shop.store.write((transaction) => changeEndpoint(transaction, id, { url: server.url }));
    await shop.dispatch.advance('5 min');
    expect(server.arrived).toHaveLength(1);
    expect(listEndpoints(shop.store)).toEqual([
      { id, url: server.url, isSigned: false, events: null, createdAt: new Date(START) },
    ]);
  });

  it.each([
    ['http://shop.example/webhooks', 'must use https'],
    ['http://localhost.example/webhooks', 'must use https'],
    ['ftp://127.0.0.1/', 'must use https'],
    ['webhooks', 'must use https'],
    ['https://ann:secret@shop.example/', 'user name or password'],
  ])('are not at %s', async (url, message) => {
    await using shop = openShop();
    const add = () => shop.store.write((transaction) => addEndpoint(transaction, { url, secret: null, events: null }));
    expect(add).toThrow(message);
    expect(() => openShop({ webhooks: [{ to: url }] })).toThrow(message);
    expect(listEndpoints(shop.store)).toEqual([]);
  });

  it.each(['https://shop.example/webhooks', 'http://localhost:3000/', 'http://127.1.2.3/', 'http://[::1]:8080/'])(
    'may be at %s',
    async (url) => {
      await using shop = openShop({ allowRemote: true, webhooks: [{ to: url }] });
      expect(listEndpoints(shop.store)[0]?.url).toBe(url);
    },
  );

  it('have a usable secret and known types', async () => {
    const to = async () => new Response();
    expect(() => openShop({ webhooks: [{ to, secret: '' }] })).toThrow('secret');
    expect(() => openShop({ webhooks: [{ to, events: ['order.lost' as 'order.ready'] }] })).toThrow(
      '"order.lost" is not an event type',
    );
  });
});

describe('faults', () => {
  it('are dealt to the next tries, in the order in which they were asked for', async () => {
    const receiver = scripted();
    await using shop = openShop({ webhooks: [{ to: receiver.to, secret: SECRET }] });
    shop.store.write((transaction) => {
      addDeliveryFault(transaction, 'lost-answer', 2);
      addDeliveryFault(transaction, 'cut', 0);
      addDeliveryFault(transaction, 'tampered-signature', 1);
    });
    shop.sell();
    await shop.dispatch.advance('1 h');
    expect(only(shop).log.map(({ fault, why }) => [fault, why])).toEqual([
      ['lost-answer', 'the answer was lost on the way'],
      ['lost-answer', 'the answer was lost on the way'],
      ['tampered-signature', null], // this receiver does not verify
    ]);
    const right = receiver.arrived.map(({ body, signature }) => signature === hmac(body, SECRET));
    expect(right).toEqual([true, true, false]);
    shop.sell();
    await shop.dispatch.advance(0);
    expect(receiver.arrived).toHaveLength(4);
  });

  it.each([
    ['over HTTP', true],
    ['without a port', false],
  ])('of every kind %s: a receiver that looks gets every event once', async (_, isHttp) => {
    const good: string[] = [];
    const answer = (body: string, signature: string | null): number => {
      if (signature !== hmac(body, SECRET)) return 401;
      good.push((JSON.parse(body) as { id: string }).id);
      return 200;
    };
    await using server = await endpoint(({ body, headers }) => answer(String(body), String(headers['x-signature'])));
    const local = async (request: Request) =>
      new Response(null, { status: answer(await request.text(), request.headers.get('X-Signature')) });
    await using shop = openShop({ webhooks: [{ to: isHttp ? server.url : local, secret: SECRET }] });
    for (const kind of FAULT_KINDS) {
      shop.store.write((transaction) => addDeliveryFault(transaction, kind, 1));
      const id = shop.sell();
      const before = good.length;
      await shop.dispatch.advance('1 h');
      const arrived = good.slice(before);
      expect(new Set(arrived), kind).toEqual(new Set([id]));
      expect(listDeliveries(shop.store, { limit: 1 })[0], kind).toMatchObject({ state: 'delivered', event: { id } });
      const [log] = listTries(shop.store, listDeliveries(shop.store, { limit: 1 })[0]?.id ?? 0);
      expect(log?.fault).toBe(kind);
      if (kind === 'duplicate') expect(arrived.length).toBeGreaterThan(1);
      if (kind === 'lost-answer') expect(arrived).toHaveLength(2);
      const delayed = (log?.at.getTime() ?? 0) - (listDeliveries(shop.store)[0]?.event.createdAt.getTime() ?? 0);
      if (kind === 'late') expect(delayed).toBeGreaterThanOrEqual(1_000);
      else expect(delayed).toBe(0);
    }
  });

  it('come from a plan, too', async () => {
    const receiver = scripted();
    const faults = (_: string, attempt: number) => (attempt < 3 ? ([{ kind: 'cut', where: 0.5 }] as const) : []);
    await using shop = openShop({ webhooks: [{ to: receiver.to }], faults });
    receiver.watch(shop);
    shop.sell();
    await shop.dispatch.advance('1 h');
    expect(receiver.minutes()).toEqual([5]);
  });
});

async function turns(count = 10): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}
