import type { RequestHandler } from 'express';
import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier } from '../../adapters/express.ts';
import { signedEvent } from '../helpers/signed-event.ts';
import { EXPRESSES, serveExpress } from './express-app.ts';
import { FAILING, testVerifier, VERIFYING } from './verifier-conformance.ts';
import { send } from './wire.ts';

const JSON_TYPE = ['Content-Type', 'application/json'] as const;

describe.each(EXPRESSES)('on %s', (version, load) => {
  const express = load();
  const serve = (...next: readonly RequestHandler[]) =>
    serveExpress(express().use('/webhooks', webhookVerifier(VERIFYING), ...next));

  testVerifier('hookbox/express', async (options, next) => {
    const handler: RequestHandler = async ({ webhookEvent, webhookBody }, response) => {
      if (webhookEvent === undefined || webhookBody === undefined) throw new Error('no event');
      response.status(202).send(await next({ event: webhookEvent, body: webhookBody }));
    };
    const served = await serveExpress(express().use('/webhooks', webhookVerifier(options), handler));
    return { ...served, thrown: served.failed, send: (parts) => send(served.url, parts) };
  });

  it('works before a body parser, which lets go by what was read', async () => {
    const handler = vi.fn<RequestHandler>(({ webhookEvent }, response) => void response.send(webhookEvent?.id));
    await using served = await serve(express.json(), express.urlencoded({ extended: true }), handler);
    const event = signedEvent();

    const answer = await send(served.url, { ...event, headers: [...event.headers, JSON_TYPE] });

    expect(served.failed).toEqual([]);
    expect(answer).toMatchObject({ status: 200, body: event.id });
  });

  const failing: readonly (readonly [how: string, handler: RequestHandler])[] = [
    ['calls next with an error', (_request, _response, next) => next(new Error('no queue'))],
    [
      'calls next with an error later',
      (_request, _response, next) => void setTimeout(() => next(new Error('no queue')), 20),
    ],
    // Express 4 knows no promises.
    ...FAILING.filter(([how]) => version !== 'Express 4' || how === 'throws'),
  ];

  it.each(failing)("leaves it to the app's own error handler when what comes next %s", async (_, handler) => {
    await using served = await serve(handler);

    expect(await send(served.url, signedEvent())).toMatchObject({ status: 599 });

    expect(served.failed).toMatchObject([{ message: 'no queue' }]);
    expect(served.thrown).toEqual([]);
  });

  it("can skip the rest of a route, as Express lets every middleware do: next('route')", async () => {
    const app = express();
    app.post('/webhooks', webhookVerifier(VERIFYING), (_request, _response, next) => next('route'));
    app.post('/webhooks', ({ webhookEvent }, response) => void response.send(webhookEvent?.id));
    await using served = await serveExpress(app);
    const event = signedEvent();

    expect(await send(served.url, event)).toMatchObject({ status: 200, body: event.id });
  });
});
