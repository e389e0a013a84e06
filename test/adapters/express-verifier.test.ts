import type { RequestHandler } from 'express';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier } from '../../adapters/express.ts';
import { ConfigurationError, isKnown, type VerifierOptions } from '../../src/index.ts';
import { expectRefused } from './expected-answer.ts';
import { REFUSED_DELIVERIES } from './rejected-deliveries.ts';
import { EXPRESSES, serveExpress } from './express-app.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { SECRET, signedEvent } from '../helpers/signed-event.ts';
import { send } from './wire.ts';

const options: VerifierOptions = { secret: SECRET, maxBodyBytes: 1_000, logger: recordedLog().logger };
const JSON_TYPE = ['Content-Type', 'application/json'] as const;

describe.each(EXPRESSES)('webhookVerifier of hookbox/express on %s', (version, load) => {
  const express = load();
  const serve = (...next: readonly RequestHandler[]) =>
    serveExpress(express().use('/webhooks', webhookVerifier(options), ...next));

  it('puts the typed event and the bytes that were verified on the request, and calls on once', async () => {
    const event = signedEvent({ note: 'é🥐' });
    const seen: unknown[] = [];
    const handler = vi.fn<RequestHandler>(async ({ webhookEvent, webhookBody }, response) => {
      await delay(10);
      const typed = webhookEvent !== undefined && isKnown(webhookEvent) && webhookEvent.type === 'order.created';
      seen.push(typed ? webhookEvent.data.total : null, Buffer.from(webhookBody ?? []));
      response.status(202).send(webhookEvent?.id);
    });
    await using served = await serve(handler);

    expect(await send(served.url, event)).toMatchObject({ status: 202, body: event.id });

    expect(seen).toEqual([12.5, Buffer.from(event.body)]);
    expect(handler).toHaveBeenCalledOnce();
  });

  it('works before a body parser, which lets go by what was read', async () => {
    const handler = vi.fn<RequestHandler>(({ webhookEvent }, response) => void response.send(webhookEvent?.id));
    await using served = await serve(express.json(), express.urlencoded({ extended: true }), handler);
    const event = signedEvent();

    const answer = await send(served.url, { ...event, headers: [...event.headers, JSON_TYPE] });

    expect(served.failed).toEqual([]);
    expect(answer).toMatchObject({ status: 200, body: event.id });
  });

  it('hands on each delivery, known or not, and what fits no schema with type null', async () => {
    const types: unknown[] = [];
    await using served = await serve(({ webhookEvent }, response) => {
      types.push(webhookEvent?.type);
      response.end();
    });
    const again = signedEvent();

    for (const event of [
      again,
      again,
      signedEvent({ type: 'order.teleported' }),
      signedEvent({ data: { total: 'x' } }),
    ]) {
      expect(await send(served.url, event)).toMatchObject({ status: 200 });
    }
    expect(types).toEqual(['order.created', 'order.created', 'order.teleported', null]);
  });

  const failing: readonly (readonly [how: string, handler: RequestHandler])[] = [
    [
      'throws',
      () => {
        throw new Error('no queue');
      },
    ],
    ['calls next with an error', (_request, _response, next) => next(new Error('no queue'))],
    [
      'calls next with an error later',
      (_request, _response, next) => void setTimeout(() => next(new Error('no queue')), 20),
    ],
    // Express 4 knows no promises.
    ...(version === 'Express 4'
      ? []
      : [['rejects', () => delay(20).then(() => Promise.reject(new Error('no queue')))] as const]),
  ];

  it.each(failing)("leaves it to the app's own error handler when what comes next %s", async (_, handler) => {
    await using served = await serve(handler);

    expect(await send(served.url, signedEvent())).toMatchObject({ status: 599 });

    expect(served.failed).toMatchObject([{ message: 'no queue' }]);
    expect(served.thrown).toEqual([]);
  });

  it("can skip the rest of a route, as Express lets every middleware do: next('route')", async () => {
    const app = express();
    app.post('/webhooks', webhookVerifier(options), (_request, _response, next) => next('route'));
    app.post('/webhooks', ({ webhookEvent }, response) => void response.send(webhookEvent?.id));
    await using served = await serveExpress(app);
    const event = signedEvent();

    expect(await send(served.url, event)).toMatchObject({ status: 200, body: event.id });
  });

  it.each(REFUSED_DELIVERIES)('answers %s itself, and nothing is called', async (_, parts, expected) => {
    const handler = vi.fn<RequestHandler>((_, response) => void response.send('reached'));
    await using served = await serve(handler);

    expectRefused(await send(served.url, parts()), expected);

    expect(handler).not.toHaveBeenCalled();
    expect(served.failed).toEqual([]);
  });
});

it.each([undefined, '', 'undefined', 'null'])('refuses to be created with the secret %j', (secret) => {
  expect(() => webhookVerifier({ secret })).toThrow(ConfigurationError);
});
