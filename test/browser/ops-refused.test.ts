// @module-tag long
import { afterAll, beforeAll, expect, it } from 'vitest';
import { auditLines, listBulks, previewBulk } from '../../src/ops/index.ts';
import { brokenShop, eventOf, ORDER, type BrokenShop } from './broken-shop.ts';
import { GUESSED, OPERATOR, VIEWER } from './ops-site.ts';
import { basic, rawRequest, type RawAnswer } from './raw-request.ts';

const EVENT = `/ops/events/default/${eventOf(ORDER, 'order.created')}`;
const FILTER = { states: ['dead' as const] };

let shop: BrokenShop;
let token: string;
let bulk: number;
beforeAll(async () => {
  shop = await brokenShop();
  const { inbox } = shop.site;
  ({ id: bulk } = await previewBulk(inbox, 'rerun', FILTER, { actor: 'grace' }));
  const { text } = await get(EVENT);
  token = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
  expect(token).not.toBe('');
});
afterAll(() => shop[Symbol.asyncDispose]());

const forged: Readonly<Record<string, Forgery>> = {
  'under a name that is not the page’s': { headers: { host: 'evil.invalid' } },
  'under a name that only begins like it': { headers: { host: '127.0.0.1.evil.invalid' } },
  'under a name of another site, with its origin': {
    headers: { host: 'evil.invalid', origin: 'http://evil.invalid' },
  },
  'from another site': { headers: { origin: 'http://evil.invalid' } },
  'from another port of the same machine': { headers: { origin: 'http://127.0.0.1:1' } },
  'from a sandboxed frame': { headers: { origin: 'null', 'sec-fetch-site': 'cross-site' } },
  'from another site, says the browser': { headers: { 'sec-fetch-site': 'cross-site' } },
  'from a neighbour, says the browser': { headers: { 'sec-fetch-site': 'same-site' } },
  'from nowhere that is known': { without: ['origin', 'sec-fetch-site'] },
  'without a token': { csrf: null },
  'with an empty token': { csrf: '' },
  'with a token of nobody': { csrf: 'A'.repeat(43) },
  'without credentials': { without: ['authorization'] },
  'with a wrong password': { headers: basic({ ...GUESSED, password: 'a guess' }) },
  'with the password of somebody else': { headers: basic({ ...GUESSED, password: VIEWER.password }) },
  'with credentials of another kind': { headers: { authorization: `Bearer ${OPERATOR.password}` } },
  'by a viewer, with an operator’s token': { user: VIEWER },
};

it.each(Object.entries(forged))('is refused %s, on every route, and nothing is changed', async (_, forgery) => {
  const before = await standing();
  for (const [path, fields] of Object.entries(routes())) {
    const { status, text } = await post(path, fields, forgery);
    expect([400, 401, 403, 421, 429], `${path}: ${text}`).toContain(status);
  }
  expect(await standing()).toEqual(before);
});

it('is never done by a GET', async () => {
  const before = await standing();
  for (const [path, fields] of Object.entries(routes())) {
    await get(`${path}?${new URLSearchParams({ ...fields, csrf: token }).toString()}`);
  }
  expect(await standing()).toEqual(before);
});

it('is done when it is not forged', async () => {
  const before = await standing();
  const { status } = await post(`${EVENT}/discard`, { reason: 'not forged' }, {});
  expect(status).toBe(303);
  expect(await standing()).not.toEqual(before);
});

interface Forgery {
  readonly user?: typeof OPERATOR;
  readonly headers?: Readonly<Record<string, string>>;
  readonly without?: readonly string[];
  readonly csrf?: string | null;
}

function routes(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  return {
    [`${EVENT}/rerun`]: {},
    [`${EVENT}/discard`]: {},
    '/ops/bulks': { act: 'rerun', state: 'dead' },
    [`/ops/bulks/${bulk}/run`]: { rate: '500' },
    [`/ops/bulks/${bulk}/cancel`]: {},
    '/ops/maintenance/prune': { olderThanDays: '0', states: 'processed', confirm: '3', typed: '3' },
    '/ops/maintenance/erase': { entity: ORDER, confirm: '1', typed: ORDER },
    '/ops/maintenance/import': {},
    '/ops/maintenance/backup': {},
  };
}

function post(
  path: string,
  fields: Readonly<Record<string, string>>,
  { user = OPERATOR, headers = {}, without = [], csrf = token }: Forgery,
): Promise<RawAnswer> {
  const { origin } = shop.site;
  const right: Record<string, string> = {
    ...basic(user),
    origin,
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
  };
  for (const name of without) delete right[name];
  const body = new URLSearchParams({ ...fields, ...(csrf !== null && { csrf }) }).toString();
  return rawRequest(`${origin}${path}`, { method: 'POST', headers: { ...right, ...headers }, body });
}

function get(path: string): Promise<RawAnswer> {
  return rawRequest(`${shop.site.origin}${path}`, { headers: basic(OPERATOR) });
}

async function standing(): Promise<unknown> {
  const { inbox } = shop.site;
  const events = await inbox.list();
  return [
    events.map(({ id, state, body }) => [id, state, body?.byteLength]),
    await auditLines(inbox),
    await listBulks(inbox),
  ];
}
