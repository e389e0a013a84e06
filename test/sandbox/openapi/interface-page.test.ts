import { expect, it } from 'vitest';
import { eventTypes } from '../../../src/events/event-types.ts';
import { ASSUMPTIONS, DEFAULT_ASSUMPTIONS } from '../../../src/sandbox/assumptions.ts';
import { ERROR_CODES, ERROR_EXTRAS } from '../../../src/sandbox/errors.ts';
import { COMMON_ERRORS, OPERATION_NAMES, OPERATIONS, type Operation } from '../../../src/sandbox/service-operations.ts';
import { fixture } from '../../../src/testing/fixtures.ts';
import { NEW_CART, NEW_ITEM, placeOrder, Service } from '../service.ts';

async function readPage(service: Service): Promise<string> {
  const answer = await service.sandbox.fetch('http://localhost:4000/interface');
  expect(answer.status).toBe(200);
  return answer.text();
}

function textOf(page: string, id: string): string {
  const [, section = ''] = page.split(`<section class="panel" id="${id}"`);
  const [inner = ''] = section.split('</section>');
  return unescaped(inner.replaceAll(/<[^>]*>/g, ' ')).replaceAll(/\s+/g, ' ');
}

function unescaped(html: string): string {
  const entities: Readonly<Record<string, string>> = { quot: '"', '#39': "'", amp: '&', lt: '<', gt: '>' };
  return html.replaceAll(/&([#\w]+);/g, (entity, name: string) => entities[name] ?? entity);
}

function fieldsOf({ body, query }: Operation): readonly string[] {
  return Object.keys({ ...body?.shape, ...query?.shape });
}

it('has each operation with its fields, its errors, their fields, and its permission', async () => {
  await using service = new Service();
  const page = await readPage(service);
  for (const name of OPERATION_NAMES) {
    const operation: Operation = OPERATIONS[name];
    const text = textOf(page, name);
    expect(text).toContain(`${operation.method} ${operation.path}`);
    const codes = [...COMMON_ERRORS, ...operation.errors];
    const extras = codes.flatMap((code) => Object.keys(ERROR_EXTRAS[code].shape));
    const statuses = codes.map((code) => String(ERROR_CODES[code].status));
    const wanted = [operation.title, operation.permission, ...fieldsOf(operation), ...codes, ...statuses, ...extras];
    expect(wanted.filter((word) => !text.includes(word))).toEqual([]);
  }
  expect(textOf(page, 'createOrder')).toContain('customer.address.city text of 0 to 1000 characters no');
  expect(textOf(page, 'createOrder')).toContain('items[].quantity integer from 1 to 2147483647 yes');
  expect(textOf(page, 'getCart')).toContain('data.items[].quantity integer');
  expect(textOf(page, 'listMerchants')).toContain(
    'size integer from 1 to 100; default 20 no in the query; the number of items on a page',
  );
  expect(textOf(page, 'searchProducts')).toContain('/v1/product');
});

it('has each event with its fields and the example of the fixtures', async () => {
  await using service = new Service();
  const page = await readPage(service);
  for (const type of eventTypes) {
    const text = textOf(page, type);
    const body = JSON.parse(fixture(type).toString()) as { readonly data: object };
    expect(text).toContain(JSON.stringify(body, null, 2).replaceAll(/\s+/g, ' '));
    for (const field of Object.keys(body.data)) expect(text).toContain(`data.${field} `);
  }
});

it('has each assumption with its value in force, and links to it where it decides', async () => {
  await using service = new Service({ assumptions: { lowStockAt: 77 } });
  const page = unescaped(await readPage(service));
  for (const [id, { decision, values }] of Object.entries(ASSUMPTIONS)) {
    const inForce = values.map((name) => `${name} ${name === 'lowStockAt' ? 77 : DEFAULT_ASSUMPTIONS[name]}`);
    const wanted = [`<tr id="${id}">`, `<a href="#${id}">${id}</a>`, decision, inForce.join(', ')];
    expect(wanted.filter((text) => !page.includes(text))).toEqual([]);
  }
});

it('has lines for curl that work', async () => {
  await using service = new Service();
  const page = await readPage(service);
  const cart = await service.data('POST', '/cart', NEW_CART);
  const item = await service.data('POST', `/cart/${cart}/item`, NEW_ITEM);
  const known: Readonly<Record<string, string>> = {
    KEY: service.sandbox.apiKey,
    cartId: cart,
    itemId: item,
    orderId: await placeOrder(service),
    merchantId: 'mer_bakery',
  };
  const ids: Readonly<Record<string, string>> = {
    getCategory: 'cat_bread',
    updateCart: await service.data('POST', '/cart', NEW_CART),
  };
  await service.data('POST', `/cart/${ids['updateCart']}/item`, NEW_ITEM);
  for (const name of OPERATION_NAMES) {
    const id = ids[name] ?? cart;
    const line = /curl (?:-X (?<method>\w+) )?"(?<url>[^"]*)"(?<rest>.*?)(?: (?:Parameters|Body|Answer))/.exec(
      textOf(page, name),
    );
    const { method = 'GET', url = '', rest = '' } = line?.groups ?? {};
    const filled = (text: string) =>
      text.replaceAll(/\$(\w+)/g, (_, word: string) => (word === 'id' ? id : (known[word] ?? '?')));
    const headers = Array.from(
      rest.matchAll(/-H ["']([\w-]+): ([^"']*)["']/g),
      ([, header = '', value = '']): [string, string] => [header, filled(value)],
    );
    const body = /-d '(.*)'/.exec(rest)?.[1];
    const answer = await service.sandbox.fetch(filled(url), { method, headers, ...(body !== undefined && { body }) });
    expect({ name, status: answer.status }).toEqual({ name, status: OPERATIONS[name].status });
    const { data } = (await answer.json()) as { readonly data: unknown };
    if (name === 'searchProducts') expect(data).not.toEqual([]);
  }
});

it('comes with safe headers, without a key, a script, or anything of another host', async () => {
  await using service = new Service();
  const answer = await service.sandbox.fetch('http://sandbox/interface');
  expect(answer.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
  expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
  const page = await answer.text();
  expect(page).not.toContain('<script');
  expect(page).not.toContain(service.sandbox.apiKey);
  const loaded = Array.from(page.matchAll(/(?:src|href)="([^"#][^"]*)"/g), ([, target = '']) => target);
  expect(loaded.toSorted()).toEqual(['/interface/page.css', '/openapi.json', 'data:,']);
  const style = await service.sandbox.fetch('http://sandbox/interface/page.css');
  expect([style.status, style.headers.get('Content-Type')]).toEqual([200, 'text/css; charset=utf-8']);
});

it('is not framed by, or told to, another site; a link to it works', async () => {
  await using service = new Service();
  const ask = async (mode: string, dest: string) => {
    const headers = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': mode, 'Sec-Fetch-Dest': dest };
    return (await service.sandbox.fetch('http://sandbox/interface', { headers })).status;
  };
  expect([await ask('no-cors', 'image'), await ask('navigate', 'iframe'), await ask('navigate', 'document')]).toEqual([
    403, 403, 200,
  ]);
});
