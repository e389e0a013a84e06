import { Hono } from 'hono';
import { describe, expectTypeOf, it } from 'vitest';
import { webhookHandler, webhookVerifier, type WebhookVariables } from '../../adapters/hono.ts';
import { isKnown, type InvalidEvent, type UnknownEvent, type WebhookEvent } from '../../src/index.ts';

describe('webhookVerifier in a Hono app', () => {
  it('types what the next handler finds in c.var', () => {
    new Hono().post('/webhooks', webhookVerifier({ secret: process.env['SIGNING_SECRET'] }), (c) => {
      expectTypeOf(c.var.webhookEvent).toEqualTypeOf<WebhookEvent | UnknownEvent | InvalidEvent>();
      expectTypeOf(c.get('webhookEvent')).toEqualTypeOf<WebhookEvent | UnknownEvent | InvalidEvent>();
      expectTypeOf(c.var.webhookBody).toEqualTypeOf<Uint8Array>();
      // @ts-expect-error -- nothing else is there
      void c.var.webhook;
      return c.json({ received: true });
    });
  });

  it('has the event narrow by its type, without a cast', () => {
    new Hono().post('/webhooks', webhookVerifier({ secret: 'text' }), (c) => {
      const event = c.var.webhookEvent;
      if (event.type === null) {
        expectTypeOf(event).toEqualTypeOf<InvalidEvent>();
      } else if (isKnown(event)) {
        expectTypeOf(event).toEqualTypeOf<WebhookEvent>();
        if (event.type === 'order.confirmed') {
          expectTypeOf(event.data.special_instructions).toEqualTypeOf<string | null | undefined>();
        }
      } else {
        expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
      }
      return c.body(null, 204);
    });
  });

  it('is typed for an app that declares WebhookVariables, too', () => {
    const app = new Hono<{ Variables: WebhookVariables & { tenant: string } }>();
    app.use('/webhooks', webhookVerifier({ secret: 'text' }));
    app.post('/webhooks', (c) => {
      expectTypeOf(c.var.webhookEvent).toEqualTypeOf<WebhookVariables['webhookEvent']>();
      expectTypeOf(c.var.tenant).toEqualTypeOf<string>();
      return c.body(null, 204);
    });
  });

  it('leaves nothing in c.var without it', () => {
    new Hono().post('/webhooks', (c) => {
      // @ts-expect-error -- nothing has verified this request
      void c.var.webhookEvent;
      return c.body(null, 204);
    });
  });
});

describe('webhookHandler', () => {
  it('takes anything that receives, and is a handler for any app', () => {
    expectTypeOf(webhookHandler).parameter(0).toHaveProperty('receive');
    new Hono<{ Variables: { tenant: string } }>().post(
      '/webhooks',
      webhookHandler({ receive: () => new Promise(() => {}) }),
    );
  });
});
