import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { webhookHandler, webhookVerifier, type WebhookVariables } from '../../adapters/hono.ts';
import { ConfigurationError, createReceiver, isKnown, type VerifierOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { expectAccepted, expectRefused } from './expected-answer.ts';
import { REFUSED_DELIVERIES } from './rejected-deliveries.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { serveApp } from './served-app.ts';
import { SECRET, signed, signedEvent } from '../helpers/signed-event.ts';
import { send, type Answer, type RequestParts } from './wire.ts';

interface Verified {
  Variables: WebhookVariables;
}
type Deliver = (app: Hono<Verified>, parts: RequestParts) => Promise<Answer>;

const deliverOverHttp: Deliver = async (app, parts) => {
  await using served = await serveApp(app);
  return await send(served.url, parts);
};

const deliverInProcess: Deliver = async (app, { method = 'POST', headers = [], body }) => {
  const carried = method === 'GET' || body === undefined ? {} : { body: Buffer.from(body) };
  const response = await app.request('/webhooks', { method, headers: headers.map(([...pair]) => pair), ...carried });
  return { status: response.status, headers: new Map(response.headers), body: await response.text() };
};

function verifier(options: Partial<VerifierOptions> = {}): ReturnType<typeof webhookVerifier> {
  return webhookVerifier({ secret: SECRET, logger: recordedLog().logger, ...options });
}

const WAYS: readonly (readonly [way: string, deliver: Deliver])[] = [
  ['served by @hono/node-server', deliverOverHttp],
  ['through app.request()', deliverInProcess],
];

describe.each(WAYS)('webhookVerifier %s', (_, deliver) => {
  it('hands a typed event and the bytes that were verified to the next handler', async () => {
    const event = signedEvent();
    const seen: { total?: number | null | undefined; body?: Uint8Array } = {};
    const app = new Hono<Verified>().post('/webhooks', verifier(), (c) => {
      const { webhookEvent, webhookBody } = c.var;
      if (isKnown(webhookEvent) && webhookEvent.type === 'order.created') seen.total = webhookEvent.data.total;
      seen.body = webhookBody;
      return c.text(webhookEvent.id ?? '', 202);
    });

    const answer = await deliver(app, event);

    expect(answer).toMatchObject({ status: 202, body: event.id });
    expect(seen.total).toBe(12.5);
    expect(Buffer.from(seen.body ?? []).equals(event.body)).toBe(true);
  });

  it.each(['json', 'text', 'arrayBuffer', 'bytes', 'blob'] as const)(
    'leaves c.req.%s() to the next handler',
    async (as) => {
      const event = signedEvent({ note: 'é🥐' });
      const app = new Hono<Verified>().post('/webhooks', verifier(), async (c) => {
        const read: unknown = await c.req[as]();
        if (as === 'json') return c.json(read as object);
        return new Response(read as string | ArrayBuffer | Uint8Array<ArrayBuffer> | Blob);
      });

      expect((await deliver(app, event)).body).toBe(Buffer.from(event.body).toString());
    },
  );

  it('lets the next handler read the body in several ways, one after the other', async () => {
    const event = signedEvent();
    const app = new Hono<Verified>().post('/webhooks', verifier(), async (c) => {
      const lengths = [
        (await c.req.arrayBuffer()).byteLength,
        (await c.req.text()).length,
        c.var.webhookBody.byteLength,
      ];
      return c.json([...lengths, (await c.req.json<{ id: string }>()).id]);
    });

    const { byteLength } = event.body;
    expect((await deliver(app, event)).body).toBe(JSON.stringify([byteLength, byteLength, byteLength, event.id]));
  });

  it('passes an invalid event on with type null and its issues', async () => {
    const event = signedEvent({ data: { total: 'twelve' } });
    const app = new Hono<Verified>().post('/webhooks', verifier(), (c) => c.json(c.var.webhookEvent));

    const { status, body } = await deliver(app, event);

    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      id: event.id,
      type: null,
      issues: [{ path: 'data.total', message: expect.any(String) as unknown }],
    });
  });

  it('passes an event of an unknown type on as it is', async () => {
    const event = signedEvent({ type: 'order.teleported', more: [1] });
    const app = new Hono<Verified>().post('/webhooks', verifier(), (c) =>
      c.json({ known: isKnown(c.var.webhookEvent), event: c.var.webhookEvent }),
    );

    const { body } = await deliver(app, event);

    const sent: unknown = JSON.parse(Buffer.from(event.body).toString());
    expect(JSON.parse(body)).toEqual({ known: false, event: sent });
  });

  it('leaves the body to a webhookHandler that comes after it', async () => {
    const event = signedEvent();
    const inbox = memoryInbox();
    const receiver = createReceiver({ secret: SECRET, inbox });
    const app = new Hono<Verified>().post('/webhooks', verifier(), webhookHandler(receiver));

    expectAccepted(await deliver(app, event), { id: event.id, duplicate: false });

    const [stored] = await inbox.list();
    expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
  });

  it('knows no duplicates: each delivery reaches the next handler', async () => {
    const ids: unknown[] = [];
    const app = new Hono<Verified>().post('/webhooks', verifier(), (c) => {
      ids.push(c.var.webhookEvent.id);
      return c.body(null, 204);
    });
    const event = signedEvent();

    await deliver(app, event);
    await deliver(app, event);

    expect(ids).toEqual([event.id, event.id]);
  });

  it('keeps keys named __proto__ from the event, and leaves the bytes as they are', async () => {
    const { body } = signedEvent();
    const poisoned = signed(Buffer.from(body).toString().replace('"data":{', '"data":{"__proto__":{"admin":true},'));
    const app = new Hono<Verified>().post('/webhooks', verifier(), (c) => {
      const event = c.var.webhookEvent;
      const data = event.type === null ? {} : event.data;
      return c.json([Object.hasOwn(data, '__proto__'), 'admin' in data, c.var.webhookBody.byteLength]);
    });

    expect((await deliver(app, poisoned)).body).toBe(JSON.stringify([false, false, poisoned.body.byteLength]));
  });

  it.each(REFUSED_DELIVERIES)('answers %s itself, and the next handler is not called', async (_, parts, expected) => {
    let called = false;
    const app = new Hono<Verified>().all('/webhooks', verifier({ maxBodyBytes: 1_000 }), (c) => {
      called = true;
      return c.text('reached');
    });

    expectRefused(await deliver(app, parts()), expected);
    expect(called).toBe(false);
  });

  it('answers 503 while no secret is to be had, and the next handler is not called', async () => {
    let called = false;
    const secret = (): Promise<string> => Promise.reject(new Error('the vault is sealed'));
    const app = new Hono<Verified>().all('/webhooks', verifier({ secret }), (c) => {
      called = true;
      return c.text('reached');
    });

    expectRefused(await deliver(app, signedEvent()), { status: 503, code: 'UNAVAILABLE', retryAfter: true });
    expect(called).toBe(false);
  });

  it("leaves what the next handler throws to the app's own error handler", async () => {
    const app = new Hono<Verified>().post('/webhooks', verifier(), () => {
      throw new Error('no');
    });
    app.onError((failure, c) => c.text(`the app says ${failure.message}`, 500));

    expect(await deliver(app, signedEvent())).toMatchObject({ status: 500, body: 'the app says no' });
  });
});

describe('webhookVerifier', () => {
  it.each([undefined, '', 'undefined', 'null'])('refuses to be created with the secret %j', (secret) => {
    expect(() => webhookVerifier({ secret })).toThrow(ConfigurationError);
  });
});
