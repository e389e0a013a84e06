// @module-tag long
// @module-tag dear
import { readFileSync } from 'node:fs';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/express.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { check, findingOf, probesWith, SECRET } from './checking.ts';
import { scriptedEndpoint } from './scripted-endpoint.ts';

describe('a forgery', () => {
  const FORGERIES = [
    'unsigned',
    'tampered-body',
    'tampered-signature',
    'foreign-signature',
    'signature-form',
    'forged-malformed-json',
  ];

  it.each([400, 403])('that is refused with %i is a warning, also where it is no JSON', async (status) => {
    const report = await check(scriptedEndpoint(({ right }) => (right === 401 ? status : right)));

    expect(probesWith(report, 'fault')).toEqual([]);
    expect(probesWith(report, 'warning')).toEqual(FORGERIES);
  });

  it('that causes an exception is a fault', async () => {
    const report = await check(
      scriptedEndpoint(({ right, headers }) => {
        const { length } = headers['x-signature'] ?? '';
        return right === 401 && length !== 64 ? 500 : right;
      }),
    );

    expect(probesWith(report, 'fault')).toEqual(['unsigned', 'tampered-signature', 'signature-form']);
    expect(findingOf(report, 'unsigned').mend).toContain('timingSafeEqual throws if the lengths differ');
  });

  it('that is answered with the right signature is a fault, and the report does not repeat it', async () => {
    const report = await check(
      scriptedEndpoint(({ right, body }) => {
        const expected = `expected ${signBody(body, SECRET).toUpperCase()}`;
        return right === 401 ? { status: 401, body: expected } : right;
      }),
    );

    expect(probesWith(report, 'fault')).toEqual(FORGERIES.filter((name) => name !== 'signature-form'));
    expect(JSON.stringify(report)).not.toMatch(/[0-9A-F]{64}/i);
  });

  it('is told from a parser that runs before the signature is verified', async () => {
    const report = await check(scriptedEndpoint(({ right, id }) => (right === 401 && id === null ? 400 : right)));

    expect(probesWith(report, 'fault')).toEqual(['forged-malformed-json']);
  });
});

describe('a parser that keeps the bytes for hookbox', () => {
  it('is no fault, as docs/adapters.md recommends it', async () => {
    await using receiver = createReceiver({
      secret: SECRET,
      inbox: memoryInbox({ ephemeral: true }),
      logger: recordedLog().logger,
    });
    const keepBytes = (request: object, _: unknown, rawBody: Buffer) => void Object.assign(request, { rawBody });
    const app = express();
    app.use(express.json({ limit: '1mb', verify: keepBytes }));
    app.all('/webhooks', webhookHandler(receiver));
    const { probes } = await check(app, {
      effects: null,
      only: ['raw-bytes', 'forged-malformed-json', 'one-mebibyte'],
    });

    expect(probes.map(({ name, verdict }) => [name, verdict])).toEqual([
      ['valid', 'pass'],
      ['raw-bytes', 'pass'],
      ['forged-malformed-json', 'warning'],
      ['one-mebibyte', 'pass'],
    ]);
    const [finding] = probes[2]?.findings ?? [];
    expect(finding?.why).toContain('No event is harmed');
    expect(readFileSync('docs/adapters.md', 'utf8')).toContain("express.json({ limit: '1mb', verify:");
  });
});

describe('a delivery that is authentic and no event', () => {
  it.each([200, 302, 500, 503])('is a warning when it is answered %i', async (status) => {
    const report = await check(
      scriptedEndpoint(({ right }) => (right === 400 ? status : right)),
      { only: ['malformed-json'] },
    );

    expect(probesWith(report, 'warning')).toEqual(['malformed-json']);
  });
});

describe('other methods', () => {
  it.each([
    ['GET', 200, 'warning'],
    ['PUT', 200, 'warning'],
    ['PUT', 500, 'warning'],
    ['GET', 501, 'pass'],
  ])('%s answered %i: %s', async (method, status, verdict) => {
    const report = await check(
      scriptedEndpoint((asked) => (asked.method === method ? status : asked.right)),
      { only: ['other-methods'] },
    );

    expect(report.probes.at(-1)).toMatchObject({ name: 'other-methods', verdict });
  });
});

describe('an answer whose body does not end', () => {
  it('is a success by its status, with a note', async () => {
    const report = await check(
      scriptedEndpoint(({ right }) => (right === 200 ? { status: 200, body: '{"ok":', ends: false } : right)),
      { only: ['valid'] },
    );

    const [valid] = report.probes;
    expect(valid).toMatchObject({ verdict: 'pass', findings: [] });
    expect(valid?.note).toBe('the response body was incomplete, so only its status was checked');
    expect(valid?.ms).toBeLessThan(5_000);
  });
});

describe('raw-bytes', () => {
  it('sends bodies that parsing and writing again would change', async () => {
    const bodies: string[] = [];
    await check(
      scriptedEndpoint(({ body, right }) => {
        bodies.push(body.toString());
        return right;
      }),
      { only: ['raw-bytes'] },
    );
    const [, spaced, numbers = '', escaped = '', turned] = bodies;

    expect(bodies).toHaveLength(5);
    for (const body of bodies.slice(1)) expect(JSON.stringify(JSON.parse(body))).not.toBe(body);
    expect(spaced).toMatch(/^\{\n {3}"id": "[^]*\}\r\n$/);
    expect(numbers.match(/"price":6\.50[,}]/g)).toHaveLength(1);
    expect(numbers.match(/"total":3\.005e1[,}]/g)).toHaveLength(1);
    expect(escaped).toContain(String.raw`"currency":"\u0055\u0053D"`);
    expect(turned).toMatch(/^\{\n "data": \{/);
    expect(JSON.parse(numbers)).toMatchObject({ data: { total: 30.05, items: [{ price: 6.5 }, {}] } });
    expect(JSON.parse(escaped)).toMatchObject({ data: { currency: 'USD' } });
  });
});
