import { describe, expect, it } from 'vitest';
import { eventTypes } from '../../src/events/event-types.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { signBody, verifySignature } from '../../src/signing/signature.ts';
import { buildEvent, signedRequest } from '../../src/testing/index.ts';

const SECRET = 'a secret that only the tests know';

async function bodyOf(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.arrayBuffer());
}

describe('signedRequest', () => {
  it('writes amounts with two decimals, which a receiver that parses and writes again loses', async () => {
    const event = buildEvent('order.created', { data: { total: 12.5, items: [{ quantity: 2, price: 6 }] } });

    const text = await signedRequest(event, SECRET).text();

    expect(text).toContain('"total":12.50');
    expect(text).toContain('"quantity":2,"price":6.00');
    expect(JSON.parse(text)).toEqual(event);
  });

  it.each(eventTypes)('writes %s so that parsing it and writing it again gives other bytes', async (type) => {
    const event = buildEvent(type);
    const text = await signedRequest(event, SECRET).text();
    expect(text).not.toBe(JSON.stringify(JSON.parse(text)));
    expect(JSON.parse(text)).toEqual(event);
  });

  it('does so whatever the amounts and the texts are', async () => {
    const texts = ['"', '\\', ':', '":"', '\\":', '"a":1', '🍰'];
    for (const id of texts) {
      const event = buildEvent('order.created', { id, data: { total: 12.34, items: [] } });
      const text = await signedRequest(event, SECRET).text();
      expect(text).not.toBe(JSON.stringify(event));
      expect(JSON.parse(text)).toEqual(event);
    }
  });

  it('posts the JSON of an event with its signature', async () => {
    const event = buildEvent('order.ready');
    const request = signedRequest(event, SECRET);
    expect(request).toMatchObject({ method: 'POST', url: 'http://localhost/webhooks' });
    expect(request.headers.get('content-type')).toBe('application/json');
    const signature = request.headers.get('x-signature');
    const body = await bodyOf(request);
    expect(JSON.parse(Buffer.from(body).toString())).toEqual(event);
    expect(verifySignature(body, signature, SECRET)).toBe(true);
  });

  it.each([
    ['bytes', fixture('order.created')],
    ['bytes that are no UTF-8', fixture('edge/rejected-invalid-utf8')],
  ])('posts %s exactly', async (_, bytes) => {
    const request = signedRequest(bytes, SECRET);
    expect(Buffer.from(await bodyOf(request))).toEqual(bytes);
    expect(request.headers.get('x-signature')).toBe(signBody(bytes, SECRET));
  });

  it('posts a text as its UTF-8 bytes', async () => {
    const request = signedRequest('{"id":"é"}', SECRET);
    expect(Buffer.from(await bodyOf(request))).toEqual(Buffer.from('{"id":"é"}'));
    expect(request.headers.get('x-signature')).toBe(signBody('{"id":"é"}', SECRET));
  });

  it('takes a signature among the headers, however its name is written', () => {
    const headers = { 'x-signature': 'f'.repeat(64), 'content-type': 'text/plain' };
    const request = signedRequest('{}', SECRET, { headers });
    expect(request.headers.get('x-signature')).toBe('f'.repeat(64));
    expect(request.headers.get('content-type')).toBe('text/plain');
  });

  it('goes where it is told, with other headers, with another signature or none', () => {
    const url = 'https://shop.example/hooks';
    const forged = signedRequest('{}', SECRET, { url, signature: '0'.repeat(64), headers: { 'x-trace': '1' } });
    expect(forged.url).toBe(url);
    expect(forged.headers.get('x-trace')).toBe('1');
    expect(forged.headers.get('x-signature')).toBe('0'.repeat(64));
    expect(signedRequest('{}', SECRET, { signature: null }).headers.has('x-signature')).toBe(false);
  });
});
