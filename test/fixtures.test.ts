import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import expectations from '../fixtures/edge/expectations.json' with { type: 'json' };
import rfc4231 from '../fixtures/rfc4231.json' with { type: 'json' };
import signatures from '../fixtures/signatures.json' with { type: 'json' };
import { entityOf } from '../src/events/entity.ts';
import { type WebhookEvent } from '../src/events/webhook-event.ts';
import { eventTypes } from '../src/events/event-types.ts';
import { parseEvent } from '../src/events/parse.ts';
import { memoryInbox } from '../src/inbox/memory/memory-inbox.ts';
import { createReceiver } from '../src/receive/receiver.ts';
import { signBody } from '../src/signing/signature.ts';

const folder = new URL('../fixtures/', import.meta.url);
const readme = readFileSync(new URL('README.md', folder), 'utf8');

function bytes(path: string): Buffer {
  return readFileSync(new URL(path, folder));
}

function files(path: string): string[] {
  return readdirSync(new URL(path, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();
}

function event(type: string): WebhookEvent {
  const parsed = parseEvent(bytes(`${type}.json`));
  if (!parsed.ok || !parsed.known) throw new Error(`${type}.json is no known event`);
  return parsed.event;
}

describe('the fixture files', () => {
  it('are one for each event type, named exactly by it, and what the README names beside them', () => {
    const bodies = eventTypes.map((type) => `${type}.json`);
    expect(files('.')).toEqual([...bodies, 'README.md', 'rfc4231.json', 'signatures.json'].toSorted());
  });

  it.each(eventTypes)('%s.json is compact, on one line, and ends without a newline', (type) => {
    const text = bytes(`${type}.json`).toString('utf8');
    expect(text).not.toMatch(/[\n\r\t]/);
    expect(text).toMatch(/^\{"id":"[^"]+","type":"[^"]+","created":"[^"]+","data":\{/);
    expect(text).toMatch(/\}$/);
  });

  it('have an id each, whose events tell them apart', () => {
    expect(new Set(eventTypes.map((type) => event(type).id)).size).toBe(11);
  });

  it.each(['order.created', 'order.confirmed', 'order.ready', 'order.completed', 'order.cancelled', 'order.failed'])(
    '%s.json has prices with two decimals, so that writing it again changes its bytes',
    (type) => {
      const original = bytes(`${type}.json`);
      expect(original.toString()).toMatch(/"price":\d+\.\d0[,}]/);
      const rewritten = JSON.stringify(JSON.parse(original.toString()));
      expect(rewritten).not.toBe(original.toString());
      expect(signBody(rewritten, 'secret')).not.toBe(signBody(original, 'secret'));
    },
  );

  it('tell the morning of the README: four events of one order, two of one product, two of one cart', () => {
    const entity = (type: string): string | null => entityOf(event(type));
    const order = ['order.created', 'order.confirmed', 'order.ready', 'order.completed'];
    expect(new Set(order.map(entity)).size).toBe(1);
    expect(order.map((type) => event(type).created)).toEqual(order.map((type) => event(type).created).toSorted());
    expect(entity('inventory.low_stock')).toBe(entity('inventory.out_of_stock'));
    expect(entity('cart.abandoned')).toBe(entity('cart.expires_soon'));
    expect(new Set(eventTypes.map(entity)).size).toBe(6);
  });
});

describe('the edge cases', () => {
  it('are one file for each expectation, and one expectation for each file', () => {
    const cases = Object.keys(expectations).map((name) => `${name}.json`);
    expect(files('edge/')).toEqual([...cases, 'expectations.json'].toSorted());
  });

  it('expect one of four things, with 0 or 1 issues, and say why', () => {
    const rows = Object.values(expectations);
    expect(new Set(rows.map(({ expect }) => expect))).toEqual(new Set(['known', 'unknown', 'invalid', 'rejected']));
    for (const { issues, why } of rows) {
      expect([0, 1]).toContain(issues);
      expect(why).toMatch(/^.{20,}\.$/s);
    }
  });

  it('have no newline at their end', () => {
    for (const name of Object.keys(expectations)) expect(bytes(`edge/${name}.json`).at(-1)).not.toBe(0x0a);
  });

  it('are answered as the README says when all of them, and the eleven bodies, are sent to one inbox', async () => {
    const secret = 'fixture-secret-not-for-production';
    const inbox = memoryInbox();
    const quiet = { info() {}, warn() {}, error() {} };
    const receiver = createReceiver({ secret, inbox, logger: quiet });
    const send = (body: Uint8Array) => receiver.receive({ body, signature: signBody(body, secret) });

    for (const type of eventTypes)
      expect(await send(bytes(`${type}.json`))).toMatchObject({ kind: 'stored', status: 200 });
    for (const [name, { expect: expected }] of Object.entries(expectations)) {
      const outcome = await send(bytes(`edge/${name}.json`));
      const answer = expected === 'rejected' ? { kind: 'rejected', status: 400 } : { kind: 'stored', status: 200 };
      expect({ name, ...outcome }).toMatchObject({ name, ...answer });
    }
    const stored = await inbox.list({ limit: 1_000 });
    const count = (expected: string): number =>
      Object.values(expectations).filter((row) => row.expect === expected).length;
    expect(stored.filter(({ state }) => state === 'pending')).toHaveLength(11 + count('known') + count('unknown'));
    expect(stored.filter(({ deadReason }) => deadReason === 'invalid')).toHaveLength(count('invalid'));
  });
});

describe('the signature vectors', () => {
  it('have a name each, a reason, and a body in base64 that reads back the same', () => {
    expect(new Set(signatures.vectors.map(({ name }) => name)).size).toBe(signatures.vectors.length);
    for (const { name, why, body_base64: body } of signatures.vectors) {
      expect(why, name).toMatch(/^.{5,}\.$/s);
      expect(Buffer.from(body, 'base64').toString('base64'), name).toBe(body);
    }
  });

  it('are valid exactly where their kind lets them be', () => {
    for (const { name, kind, valid } of signatures.vectors) {
      if (kind === 'valid') expect(valid, name).toBe(true);
      else if (kind !== 'rotated') expect(valid, name).toBe(false);
    }
    const rotated = signatures.vectors.filter(({ kind }) => kind === 'rotated').map(({ valid }) => valid);
    expect(new Set(rotated)).toEqual(new Set([true, false]));
  });

  it.each(eventTypes)('sign the bytes of %s.json as they are in the file', (type) => {
    const vector = signatures.vectors.find(({ name }) => name === type);
    expect(vector?.valid).toBe(true);
    expect(Buffer.from(vector?.body_base64 ?? '', 'base64').equals(bytes(`${type}.json`))).toBe(true);
  });

  it('are the ones that the README shows', () => {
    for (const name of ['order.created', 'secret-raw-bytes-with-zeros']) {
      const vector = signatures.vectors.find((vector) => vector.name === name);
      expect(vector?.signature).toMatch(/^[0-9a-f]{64}$/);
      expect(readme).toContain(vector?.signature);
    }
  });
});

describe('the RFC 4231 cases', () => {
  it('are the seven of the RFC, in hexadecimal', () => {
    expect(rfc4231.vectors.map((vector) => vector.case)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    for (const { key, data, expected, truncatedTo = 256 } of rfc4231.vectors) {
      for (const text of [key, data, expected]) expect(text).toMatch(/^(?:[0-9a-f]{2})+$/);
      expect(expected).toHaveLength(truncatedTo / 4);
    }
  });
});
