import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loopbackLookup } from '../../src/host/loopback.ts';
import { verifySignature } from '../../src/index.ts';
import { auditLines, getEvent, pruneEvents, replayEvent } from '../../src/ops/index.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { SECRET } from '../helpers/signed-event.ts';
import { FAILED, handled, key } from './events-in-states.ts';

const ADA = { actor: 'ada' };
const KEY = key('evt_1');

async function stocked() {
  const inbox = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  await handled(inbox, FAILED, orderEvent('evt_1'));
  return inbox;
}

async function receiving(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('a replay', () => {
  it('sends the stored bytes with a new signature, shows the answer, and changes nothing but the audit and the history', async () => {
    const inbox = await stocked();
    const before = await getEvent(inbox, KEY);
    let seen: boolean | undefined;
    const port = await receiving((request, answer) => void check(request, answer));
    async function check(request: IncomingMessage, answer: ServerResponse): Promise<void> {
      const body = await buffer(request);
      seen =
        body.equals(before?.event.body ?? body) &&
        verifySignature(body, String(request.headers['x-signature']), SECRET);
      answer.writeHead(422).end('x'.repeat(5_000));
    }
    const to = `http://127.0.0.1:${port}/webhooks?token=hidden`;
    const report = await replayEvent(inbox, KEY, ADA, { to, secret: SECRET });
    expect(seen).toBe(true);
    expect(report).toMatchObject({ ok: false, status: 422, problem: 'answered 422 Unprocessable Entity' });
    expect(report?.body).toBe('x'.repeat(2_000));
    expect((await auditLines(inbox)).lines).toMatchObject([
      {
        seq: report?.audit,
        act: 'replay',
        filter: { endpoint: 'default', ids: ['evt_1'], to: `http://127.0.0.1:${port}/webhooks` },
        counts: { failed: 1 },
      },
    ]);
    const { timeline = [], ...after } = (await getEvent(inbox, KEY)) ?? {};
    const acts = timeline.filter(({ what }) => what === 'act');
    const replay = { to: `http://127.0.0.1:${port}/webhooks`, result: 'failed' };
    expect(acts).toMatchObject([{ act: { act: 'replay', actor: 'ada', audit: report?.audit, replay } }]);
    expect({ ...after, timeline: timeline.filter(({ what }) => what !== 'act') }).toEqual(before);
  });

  it('follows no redirect, and waits no longer than it is told to', async () => {
    const inbox = await stocked();
    const paths: string[] = [];
    const port = await receiving(({ url = '' }, answer) => {
      paths.push(url);
      if (url === '/away') answer.writeHead(307, { location: '/elsewhere' }).end();
    });
    const replay = (path: string) =>
      replayEvent(inbox, KEY, ADA, { to: `http://127.0.0.1:${port}${path}`, secret: null, timeoutMs: 200 });
    expect((await replay('/away'))?.problem).toBe('answered 307 Temporary Redirect; redirects are not followed');
    expect(await replay('/never')).toMatchObject({ status: null, problem: 'no answer within 0.2 s' });
    expect(paths).toEqual(['/away', '/never']);
  });

  it.for([
    'http://shop.example/webhooks',
    'http://127.0.0.1.shop.example/',
    'http://a.localhost/',
    'http://0.0.0.0/',
    'http://[::ffff:10.0.0.1]/',
    'http://ada:secret@localhost/',
    'file:///etc/passwd',
    'localhost',
  ])('to %s is refused, and the audit has no line', async (to) => {
    const inbox = await stocked();
    await expect(replayEvent(inbox, KEY, ADA, { to, secret: SECRET })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
    expect((await auditLines(inbox)).lines).toEqual([]);
  });

  it.for([
    ['127.0.0.1', true],
    ['192.0.2.1', false],
  ] as const)('to localhost, where that is %s: %s', async ([address, isHere]) => {
    for (const all of [true, false]) {
      const found = await new Promise((resolve) =>
        loopbackLookup((_, __, done) => done(null, [{ address, family: 4 }]))('localhost', { all }, (failure, given) =>
          resolve(failure?.message ?? given),
        ),
      );
      const here = all ? [{ address, family: 4 }] : address;
      expect(found).toEqual(isHere ? here : 'localhost resolves to another machine');
    }
  });

  it('to another machine needs its host in allow', async () => {
    const inbox = await stocked();
    const port = await receiving((_, answer) => answer.end());
    const replay = (host: string, allow: readonly string[] = []) =>
      replayEvent(inbox, KEY, ADA, { to: `http://${host}:${port}/`, secret: SECRET, allow });
    expect((await replay('localhost'))?.ok).toBe(true);
    await expect(replay('shop.example', ['other.example'])).rejects.toThrow('shop.example');
    expect(await replay('shop.invalid', [`shop.invalid:${port}`])).toMatchObject({ ok: false, status: null });
  });

  it('of an event without a body sends nothing', async () => {
    const inbox = await stocked();
    await pruneEvents(inbox, { settledBefore: new Date(Date.now() + 86_400_000), states: ['dead'] }, ADA);
    const options = { to: 'http://127.0.0.1:1/', secret: SECRET };
    expect(await replayEvent(inbox, KEY, ADA, options)).toBeNull();
    expect(await replayEvent(inbox, key('none'), ADA, options)).toBeNull();
  });
});
