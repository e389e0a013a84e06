// @module-tag long
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { logger as honoLogger } from 'hono/logger';
import type { HttpBindings } from '@hono/node-server';
import { describe, expect, it } from 'vitest';
import { webhookHandler, webhookVerifier } from '../../adapters/hono.ts';
import { createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { DEADLINE_MS, testAfterOthers, type OtherCode, type ServedAfter } from './after-others.ts';
import { expectAccepted, expectRefused, BODY_TOO_LARGE, INVALID_SIGNATURE } from './expected-answer.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { serveApp } from './served-app.ts';
import { SECRET, signed, signedEvent, signedEventOfSize } from '../helpers/signed-event.ts';
import { connect, requestBytes, requestHead, send } from './wire.ts';

interface OnNode {
  Bindings: HttpBindings;
}

type Middleware = MiddlewareHandler<OnNode>;
type Before = (c: Context<OnNode>) => unknown;

async function serveBehind(
  before: Middleware,
  what: 'handler' | 'verifier' = 'handler',
  deadlineMs = DEADLINE_MS,
): Promise<ServedAfter & { readonly failed: readonly Error[] }> {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const options = { secret: SECRET, deadlineMs, logger };
  const failed: Error[] = [];
  const app = new Hono<OnNode>().use(before);
  app.onError((failure, c) => {
    failed.push(failure);
    return c.text(failure.message, 500);
  });
  if (what === 'handler') app.all('/webhooks', webhookHandler(createReceiver({ ...options, inbox })));
  else {
    app.all('/webhooks', webhookVerifier(options), (c) =>
      c.json({ received: true, duplicate: false, id: c.var.webhookEvent.id }),
    );
  }
  const served = await serveApp(app);
  return { url: served.url, inbox, log: lines, failed, [Symbol.asyncDispose]: served.close };
}

function first(before: Before): Middleware {
  return async (c, next) => {
    await before(c);
    return next();
  };
}

const HARMLESS: OtherCode<Middleware> = [
  ['read c.req.text()', first((c) => c.req.text())],
  ['read c.req.json()', first((c) => c.req.json())],
  ['read c.req.arrayBuffer()', first((c) => c.req.arrayBuffer())],
  ['read c.req.bytes()', first((c) => c.req.bytes())],
  ['read c.req.blob()', first((c) => c.req.blob())],
  ['read c.req.text() and then c.req.json()', first(async (c) => [await c.req.text(), await c.req.json()])],
  ['began to read c.req.text() and did not wait', first((c) => void c.req.text())],
  ['called c.req.parseBody(), which leaves JSON alone', first((c) => c.req.parseBody())],
  ['took its time', first(() => delay(50))],
  ['read a clone of c.req.raw', first((c) => c.req.raw.clone().text())],
  ['cloned c.req.raw and read nothing', first((c) => void c.req.raw.clone())],
  ['looked at c.req.raw.body', first((c) => void c.req.raw.body)],
  ['looked at c.req.raw.body and took its time', first((c) => (void c.req.raw.body, delay(50)))],
  ['put a new Request around c.req.raw', first((c) => void (c.req.raw = new Request(c.req.raw)))],
  ['paused the Node request', first((c) => void c.env.incoming.pause())],
  ["is Hono's bodyLimit", bodyLimit({ maxSize: 2 * 1024 * 1024 })],
  ["is Hono's logger", honoLogger(() => {})],
];

const CONSUMING: OtherCode<Middleware> = [
  ['read c.req.formData()', first((c) => c.req.formData().catch(() => 'no form'))],
  ['read c.req.raw.text()', first((c) => c.req.raw.text())],
  ['read c.req.raw.json()', first((c) => c.req.raw.json())],
  ['read c.req.raw.arrayBuffer()', first((c) => c.req.raw.arrayBuffer())],
  [
    'read a part of c.req.raw.body',
    first(async (c) => {
      const reader = c.req.raw.body?.getReader();
      await reader?.read();
      reader?.releaseLock();
    }),
  ],
  [
    'drained the Node request',
    first(async ({ env: { incoming } }) => {
      incoming.resume();
      await once(incoming, 'end');
    }),
  ],
  [
    'iterated over the Node request',
    first(async ({ env: { incoming } }) => {
      for await (const part of incoming) void part;
    }),
  ],
];

const KINDS = [
  ['handler', 'content-length', 500],
  ['handler', 'chunked', 500],
  ['handler', 'content-length', 900_000],
  ['handler', 'chunked', 900_000],
  ['verifier', 'content-length', 500],
  ['verifier', 'chunked', 900_000],
] as const;

describe.each(KINDS)('webhook %s, a %s body of %i bytes', (what, framing, bytes) => {
  testAfterOthers<Middleware>(
    (before) => serveBehind(before, what),
    { harmless: HARMLESS, consuming: CONSUMING, fix: /Mount the webhook route before that code.*c\.req\.text\(\)/ },
    { what, framing, bytes },
  );
});

describe('hookbox/hono behind other middleware', () => {
  it('takes a form, if one is signed, after c.req.parseBody(): the bytes are still there', async () => {
    await using served = await serveBehind(first((c) => c.req.parseBody()));
    const event = signedEvent();
    const headers = [...event.headers, ['Content-Type', 'application/x-www-form-urlencoded']] as const;

    expectAccepted(await send(served.url, { ...event, headers }), event);
  });

  it('keeps to its limit for a body that was read before', async () => {
    await using served = await serveBehind(first((c) => c.req.arrayBuffer()));

    const answer = await send(served.url, signedEventOfSize(1024 * 1024 + 1));

    expectRefused(answer, BODY_TOO_LARGE);
  });

  it.each([
    ['bytes that are not UTF-8', Buffer.from('{"id":"evt_1","note":"\xff"}', 'latin1')],
    ['a byte order mark', Buffer.from('\uFEFF{"id":"evt_1"}')],
  ])('does not blame the signature for what c.req.text() has lost: %s', async (_, body) => {
    await using served = await serveBehind(first((c) => c.req.text()));

    const { status } = await send(served.url, signed(body));

    // 500 where the length shows the loss, 400 otherwise; never 401 under the right signature.
    expect([400, 500]).toContain(status);
  });

  it('lets a client see the 503 though it writes on, while a read that was begun before goes on', async () => {
    await using served = await serveBehind(
      first((c) => void c.req.text().catch(() => {})),
      'handler',
      10,
    );
    await using connection = await connect(served.url);

    await connection.writeBeforeReading(requestBytes(served.url, signedEventOfSize(900_000)));

    expectRefused(await connection.answer(), { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
  });

  it('answers at its deadline while a read that was begun before goes on', async () => {
    await using served = await serveBehind(first((c) => void c.req.text()));
    await using connection = await connect(served.url);
    const event = signedEvent();

    await connection.write(requestHead(served.url, event));
    await connection.write(event.body.subarray(0, 50));

    const answer = await Promise.race([connection.answer(), delay(4 * DEADLINE_MS, null)]);
    expect(answer).toMatchObject({ status: 503 });
  });

  it.each(['handler', 'verifier'] as const)(
    'raises no alarm when the client hangs up while middleware before the %s reads',
    async (what) => {
      let isCut = false;
      const tolerant = first(async (c) => {
        await c.req.text().catch(() => {
          isCut = true;
        });
      });
      await using served = await serveBehind(tolerant, what);
      await using connection = await connect(served.url);
      const event = signedEvent();
      await connection.write(requestHead(served.url, event));
      await connection.write(event.body.subarray(0, 50));
      await delay(30);

      connection.abort();
      await expect.poll(() => isCut).toBe(true);
      await delay(30);

      expect(served.log).toEqual([]);
      expect(served.failed).toEqual([]);
      expectAccepted(await send(served.url, event), event);
    },
  );

  it('does not take the process down when somebody has made the Node request speak text', async () => {
    const failures: unknown[] = [];
    const onUncaught = (failure: unknown): void => void failures.push(failure);
    // Vitest's own listeners would fail the whole run.
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException').on('uncaughtException', onUncaught);
    try {
      await using served = await serveBehind(first((c) => void c.env.incoming.setEncoding('utf8')));

      const answer = await Promise.race([send(served.url, signedEventOfSize(500_000)), delay(DEADLINE_MS, null)]);

      expect(failures).toEqual([]);
      expect(answer).toMatchObject({ status: 500, body: expect.stringContaining('BODY_CONSUMED') as unknown });
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const other of others) process.on('uncaughtException', other);
    }
  });

  it.each(['content-length', 'chunked'] as const)(
    'lets a client that writes before it reads see the 413 though somebody has touched the web stream (%s)',
    async (framing) => {
      await using served = await serveBehind(first((c) => (void c.req.raw.body, delay(20))));
      await using connection = await connect(served.url);
      const tooLarge = signedEventOfSize(2 * 1024 * 1024);

      await connection.writeBeforeReading(requestBytes(served.url, { ...tooLarge, framing }));

      expectRefused(await connection.answer(), BODY_TOO_LARGE);
    },
  );

  it.each(['content-length', 'chunked'] as const)(
    'lets a client without a signature see the 401 though somebody has touched the web stream (%s)',
    async (framing) => {
      await using served = await serveBehind(first((c) => (void c.req.raw.body, delay(20))));
      await using connection = await connect(served.url);
      const { body } = signedEventOfSize(900_000);

      await connection.writeBeforeReading(requestBytes(served.url, { body, framing }));

      expectRefused(await connection.answer(), INVALID_SIGNATURE);
      const event = signedEvent();
      expectAccepted(await send(served.url, event), event);
    },
  );
});
