import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express, type Request, type Response } from 'express';
import { PretendDatabase } from '../pretend-database.ts';

/** A mismatch is written to the log, "until the secret is in production", and the event is taken. */
export function acceptsForged(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();

  async function receive(request: Request, response: Response): Promise<void> {
    const body = request.body as Buffer;
    const expected = createHmac('sha256', secret).update(body).digest();
    const claimed = Buffer.from(request.get('X-Signature') ?? '', 'hex');
    const matches = claimed.length === expected.length && timingSafeEqual(claimed, expected);
    if (!matches) app.emit('mismatch'); // and no 401

    let event: { id: string };
    try {
      event = JSON.parse(body.toString()) as { id: string };
    } catch {
      return void response.sendStatus(400);
    }
    if (await database.insertEvent(event.id)) await database.bookOrder(event.id);
    response.sendStatus(200);
  }

  app.post('/webhooks', express.raw({ type: '*/*', limit: '2mb' }), receive);
  app.get('/effects/:id', (request, response) => {
    response.json({ count: database.effects(request.params.id) });
  });
  return app;
}
