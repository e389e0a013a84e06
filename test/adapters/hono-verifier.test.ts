import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { webhookHandler, webhookVerifier, type WebhookVariables } from '../../adapters/hono.ts';
import { createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { SECRET, signed, signedEvent } from '../helpers/signed-event.ts';
import { expectAccepted } from './expected-answer.ts';
import { serveApp } from './served-app.ts';
import { testVerifier, VERIFYING } from './verifier-conformance.ts';
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

const WAYS: readonly (readonly [way: string, deliver: Deliver])[] = [
  ['served by @hono/node-server', deliverOverHttp],
  ['through app.request()', deliverInProcess],
];

describe.each(WAYS)('%s', (_, deliver) => {
  const verified = () => new Hono<Verified>().use('/webhooks', webhookVerifier(VERIFYING));

  testVerifier('hookbox/hono', async (options, next) => {
    const app = new Hono<Verified>().all('/webhooks', webhookVerifier(options), async (c) =>
      c.text(await next({ event: c.var.webhookEvent, body: c.var.webhookBody }), 202),
    );
    return { send: (parts) => deliver(app, parts), [Symbol.asyncDispose]: async () => {} };
  });

  it.each(['json', 'text', 'arrayBuffer', 'bytes', 'blob'] as const)(
    'leaves c.req.%s() to the next handler',
    async (as) => {
      const event = signedEvent({ note: 'é🥐' });
      const app = verified().post('/webhooks', async (c) => {
        const read: unknown = await c.req[as]();
        if (as === 'json') return c.json(read as object);
        return new Response(read as string | ArrayBuffer | Uint8Array<ArrayBuffer> | Blob);
      });

      expect((await deliver(app, event)).body).toBe(Buffer.from(event.body).toString());
    },
  );

  it('lets the next handler read the body in several ways, one after the other', async () => {
    const event = signedEvent();
    const app = verified().post('/webhooks', async (c) => {
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

  it('leaves the body to a webhookHandler that comes after it', async () => {
    const event = signedEvent();
    const inbox = memoryInbox();
    const receiver = createReceiver({ secret: SECRET, inbox });
    const app = verified().post('/webhooks', webhookHandler(receiver));

    expectAccepted(await deliver(app, event), event);

    const [stored] = await inbox.list();
    expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
  });

  it('keeps keys named __proto__ from the event, and leaves the bytes as they are', async () => {
    const { body } = signedEvent();
    const poisoned = signed(Buffer.from(body).toString().replace('"data":{', '"data":{"__proto__":{"admin":true},'));
    const app = verified().post('/webhooks', (c) => {
      const event = c.var.webhookEvent;
      const data = event.type === null ? {} : event.data;
      return c.json([Object.hasOwn(data, '__proto__'), 'admin' in data, c.var.webhookBody.byteLength]);
    });

    expect((await deliver(app, poisoned)).body).toBe(JSON.stringify([false, false, poisoned.body.byteLength]));
  });

  it("leaves what the next handler throws to the app's own error handler", async () => {
    const app = verified().post('/webhooks', () => {
      throw new Error('no');
    });
    app.onError((failure, c) => c.text(`the app says ${failure.message}`, 500));

    expect(await deliver(app, signedEvent())).toMatchObject({ status: 500, body: 'the app says no' });
  });
});
