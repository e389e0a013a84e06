import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { eventTypes } from '../../../src/events/event-types.ts';
import { ASSUMPTIONS, assumptionsWith, DEFAULT_ASSUMPTIONS } from '../../../src/sandbox/assumptions.ts';
import { COMMON_ERRORS, OPERATION_NAMES, OPERATIONS, type Operation } from '../../../src/sandbox/service-operations.ts';
import { ERROR_CODES } from '../../../src/sandbox/errors.ts';
import { runHookbox } from '../../cli/run-hookbox.ts';
import { Service } from '../service.ts';
import { documentAsJson, operationsOf, resolved, type Document, type Mark } from './described.ts';

async function faultsOf(document: Document): Promise<unknown> {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) });
  return valid ? [] : (errors ?? 'unknown');
}

function marksOf(part: unknown): readonly { readonly mark: Mark; readonly part: Readonly<Record<string, unknown>> }[] {
  if (typeof part !== 'object' || part === null) return [];
  const { 'x-assumption': marks = [], ...rest } = part as { 'x-assumption'?: readonly Mark[] };
  return [
    ...marks.map((mark) => ({ mark, part: part as Readonly<Record<string, unknown>> })),
    ...Object.values(rest).flatMap(marksOf),
  ];
}

describe('the OpenAPI document', () => {
  const document = documentAsJson();

  it('is one of OpenAPI 3.1', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await faultsOf(document)).toEqual([]);
  });

  it.each<[string, (spoiled: Document) => void]>([
    ['no paths are objects', ({ paths }) => Object.assign(paths, { '/cart': 7 })],
    [
      'a parameter has no place',
      ({ paths }) => Object.assign(paths['/product']?.['get']?.parameters?.[0] ?? {}, { in: '?' }),
    ],
    [
      'a response has no description',
      ({ paths }) => Object.assign(paths['/cart']?.['post']?.responses ?? {}, { 201: {} }),
    ],
  ])('would not be one if %s', async (_, spoil) => {
    const spoiled = structuredClone(document);
    spoil(spoiled);
    expect(await faultsOf(spoiled)).not.toEqual([]);
  });

  it('names each operation once, as the table has it', () => {
    const named = operationsOf(document).map(({ operationId, method, path }) => `${operationId} ${method} ${path}`);
    const wanted = OPERATION_NAMES.map((name) => `${name} ${OPERATIONS[name].method} ${OPERATIONS[name].path}`);
    expect(named.toSorted()).toEqual(wanted.toSorted());
  });

  it('says of each operation its permission, where else it is found, and each error that it may be refused with', () => {
    for (const described of operationsOf(document)) {
      const operation: Operation = OPERATIONS[described.operationId as keyof typeof OPERATIONS];
      expect(described).toMatchObject({ security: [{ apiKey: [operation.permission] }] });
      const servers = (described as { readonly servers?: readonly { readonly url: string }[] }).servers ?? [];
      const paths = servers.map(({ url }) => new URL(`${url}${operation.path}`).pathname);
      expect(paths).toEqual(operation.alias === undefined ? [] : [operation.path, operation.alias]);
      const codes = [...COMMON_ERRORS, ...operation.errors];
      const statuses = [operation.status, ...codes.map((code) => ERROR_CODES[code].status), 500, 502, 503, 504];
      expect(Object.keys(described.responses).map(Number)).toEqual([...new Set(statuses)].toSorted((a, b) => a - b));
      for (const code of codes) {
        const response = resolved(described.responses[ERROR_CODES[code].status], document) as { description: string };
        expect(response.description).toContain(code);
      }
    }
  });

  it('names each event once', () => {
    expect(Object.keys(document.webhooks)).toEqual(eventTypes);
    const ids = Object.values(document.webhooks).map(({ post }) => post?.operationId);
    expect(new Set(ids).size).toBe(11);
  });

  it('marks each assumption where it decides, in its words and with its values', () => {
    const marks = marksOf(document);
    expect(new Set(marks.map(({ mark }) => mark.id))).toEqual(new Set(Object.keys(ASSUMPTIONS)));
    for (const { mark } of marks) {
      const { decision, values } = ASSUMPTIONS[mark.id as keyof typeof ASSUMPTIONS];
      const inForce = Object.fromEntries(values.map((name) => [name, DEFAULT_ASSUMPTIONS[name]]));
      expect(mark).toEqual({ id: mark.id, decision, ...(values.length > 0 && { values: inForce }) });
    }
    for (const described of operationsOf(document)) {
      const ids = described['x-assumption']?.map(({ id }) => id);
      const operation: Operation = OPERATIONS[described.operationId as keyof typeof OPERATIONS];
      expect(new Set(ids)).toEqual(new Set([...operation.assumptions, 'A8']));
    }
  });

  it('has the values that are in force', () => {
    const assumptions = assumptionsWith({
      pageSize: 3,
      maxPageSize: 7,
      maxItems: 5,
      searchDistanceKm: 2.5,
      maxProducts: 4,
    });
    const changed = documentAsJson({ assumptions, server: 'http://localhost:9' });
    expect(changed).toMatchObject({
      servers: [{ url: 'http://localhost:9' }],
      components: { schemas: { NewOrder: { properties: { items: { maxItems: 5 } } } } },
    });
    const schemaOf = (path: string, name: string) =>
      changed.paths[path]?.['get']?.parameters?.find((parameter) => parameter.name === name)?.schema;
    expect(schemaOf('/merchant', 'size')).toMatchObject({ default: 3, maximum: 7 });
    expect(schemaOf('/product', 'distance')).toMatchObject({ default: 2.5 });
    for (const { mark } of marksOf(changed).filter((one) => one.mark.id === 'A7')) {
      expect(mark.values).toEqual({ pageSize: 3, maxPageSize: 7 });
    }
  });

  it('keeps nothing of the marks that it is made with', () => {
    expect(JSON.stringify(document)).not.toMatch(/"(?:assumption|assumedKeywords|examples":\[\])"/);
  });
});

describe('GET /openapi.json', () => {
  it('is the document of this sandbox: without a key, beside all limits and faults, and not for POST', async () => {
    await using service = new Service({ plan: { perSecond: 1 }, assumptions: { maxPageSize: 50 } });
    service.sandbox.faults.add({ kind: 'before', times: 9 });
    for (let n = 0; n < 3; n += 1) {
      const answer = await service.sandbox.fetch('http://localhost:4321/openapi.json');
      expect(answer.status).toBe(200);
      expect(answer.headers.get('X-RateLimit-Limit')).toBeNull();
      const assumptions = assumptionsWith({ maxPageSize: 50 });
      expect(await answer.json()).toEqual(documentAsJson({ assumptions, server: 'http://localhost:4321' }));
    }
    expect((await service.call('POST', '/openapi.json', undefined, { key: null })).status).toBe(401);
    service.sandbox.faults.remove();
    expect((await service.call('GET', '/merchant')).status).toBe(200);
  });

  it('is not told to another site, over plain HTTP to another machine, or by a sandbox that is closed', async () => {
    const service = new Service();
    const get = (url: string, headers = {}) => service.sandbox.fetch(url, { headers });
    expect((await get('http://sandbox/openapi.json', { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
    expect((await get('http://shop.example/openapi.json')).status).toBe(403);
    expect((await get('https://shop.example/openapi.json')).status).toBe(200);
    await service.sandbox.close();
    expect((await get('http://sandbox/openapi.json')).status).toBe(503);
  });
});

describe('hookbox schema --openapi', () => {
  it('prints the document', async () => {
    const { code, stdout } = await runHookbox(['schema', '--openapi']);
    expect({ code, document: JSON.parse(stdout) as unknown }).toEqual({ code: 0, document: documentAsJson() });
  });

  it('is of no single event', async () => {
    const { code, stderr } = await runHookbox(['schema', 'order.created', '--openapi']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--openapi') });
  });
});
