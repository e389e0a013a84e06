import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { hostileTexts } from '../../browser/hostile-texts.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { SECRET } from '../../helpers/signed-event.ts';
import { FAILED, handled } from '../events-in-states.ts';
import { expectAnswer, openedPage, signedIn, VIC } from './opened-page.ts';
import { countOf, textIn } from './read-html.ts';

const EVENT = '/events/default/evt_1';
const replay = { secret: SECRET };

test('the page sends an event to this machine, and shows what that answers as text', async () => {
  const server = createServer((_, answer) => answer.writeHead(500).end(hostileTexts.script)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { inbox, post, html } = openedPage({ replay });
  await handled(inbox, FAILED, orderEvent('evt_1'));
  expect(await html(EVENT)).toContain(`action="/ops${EVENT}/replay"`);
  const answer = await (
    await post(`${EVENT}/replay`, { to: `127.0.0.1:${(server.address() as AddressInfo).port}/x` })
  ).text();
  expect(textIn(answer, 'replayed')).toContain('answered 500 Internal Server Error');
  expect(textIn(answer, 'replayed')).toContain(hostileTexts.script);
  expect(countOf(answer, 'script')).toBe(1);
  await expectAnswer(await post(`${EVENT}/replay`, { to: 'http://shop.example/' }), 400, 'Nothing was sent.');
  expect(textIn(await html(EVENT), 'timeline')).toMatch(/replayed by \S+ on the page to http:\S+\/x \(failed\)/);
});

test.for([
  ['has no secret', {}],
  ['masks fields', { replay, mask: ['data.total'] }],
] as const)('a page that %s replays nothing', async ([, options]) => {
  const { inbox, post, html } = openedPage(options);
  await handled(inbox, FAILED, orderEvent('evt_1'));
  expect(await html(EVENT)).not.toContain('/replay');
  expect((await post(`${EVENT}/replay`, { to: 'http://127.0.0.1:1/' })).status).toBe(404);
});

test('a viewer replays nothing', async () => {
  const { app, inbox, get } = openedPage({ replay });
  await handled(inbox, FAILED, orderEvent('evt_1'));
  expect(await (await get(EVENT, signedIn(VIC))).text()).not.toContain('/replay');
  const headers = { ...signedIn(VIC), origin: 'http://shop.example' };
  const answer = await app.request(`http://shop.example/ops${EVENT}/replay`, { method: 'POST', headers });
  expect(answer.status).toBe(403);
});

test('an unusable secret is refused at once', () => {
  expect(() => openedPage({ replay: { secret: 'undefined' } })).toThrow('SIGNING_SECRET');
});
