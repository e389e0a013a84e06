/** hono.test.ts runs the suite there. */
import { Hono, type MiddlewareHandler } from 'hono';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/hono.ts';
import { createReceiver, type Inbox } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { expectAccepted, expectRefused, BODY_CONSUMED } from './expected-answer.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { SECRET, signedEvent, type SignedDelivery } from '../helpers/signed-event.ts';
import type { Answer } from './wire.ts';

interface App {
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
  fetch(delivery: SignedDelivery, env?: object): Promise<Answer>;
}

function appAfter(before?: MiddlewareHandler): App {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const app = new Hono();
  if (before !== undefined) app.use(before);
  app.all('/webhooks', webhookHandler(createReceiver({ secret: SECRET, inbox, logger })));
  return {
    inbox,
    log: lines,
    async fetch({ headers, body }, env) {
      const init = { method: 'POST', headers: headers.map(([...pair]) => pair), body: Buffer.from(body) };
      const response = await app.fetch(new Request('http://shop.test/webhooks', init), env);
      return { status: response.status, headers: new Map(response.headers), body: await response.text() };
    },
  };
}

describe('hookbox/hono without a Node server', () => {
  it('takes a binding that happens to be called incoming for nothing else', async () => {
    const event = signedEvent();

    const answer = await appAfter().fetch(event, { incoming: { get: () => null } });

    expectAccepted(answer, event);
  });

  it.each(['text', 'json', 'arrayBuffer', 'blob'] as const)('takes what was read with c.req.%s()', async (as) => {
    const app = appAfter(async (c, next) => {
      await c.req[as]();
      return next();
    });
    const event = signedEvent({ note: 'é' });

    expectAccepted(await app.fetch(event), event);

    const [stored] = await app.inbox.list();
    expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
  });

  const consuming: readonly (readonly [what: string, before: MiddlewareHandler])[] = [
    [
      'read c.req.raw.text()',
      async (c, next) => {
        await c.req.raw.text();
        return next();
      },
    ],
    [
      'read c.req.formData()',
      async (c, next) => {
        await c.req.formData().catch(() => 'no form');
        return next();
      },
    ],
    [
      'holds a lock on c.req.raw.body',
      async (c, next) => {
        c.req.raw.body?.getReader();
        return next();
      },
    ],
  ];

  it.each(consuming)('answers 500 after middleware that %s, and the log names the fix', async (_, before) => {
    const app = appAfter(before);
    const event = signedEvent();

    expectRefused(await app.fetch(event), BODY_CONSUMED);

    expect(app.log).toMatchObject([{ level: 'error', facts: { reason: 'body-consumed', status: 500 } }]);
    expect(JSON.stringify(app.log)).toMatch(/before body parsers/i);
  });
});
