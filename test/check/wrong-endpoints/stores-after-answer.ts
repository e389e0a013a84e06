import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express } from 'express';
import { PretendDatabase } from '../pretend-database.ts';

/** Answers at once "to be fast", and stores when the answer is out. */
export function storesAfterAnswer(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();

  app.post('/webhooks', express.raw({ type: 'application/json', limit: '1mb' }), (request, response) => {
    const body = request.body as Buffer;
    const expected = createHmac('sha256', secret).update(body).digest('hex');
    const claimed = request.get('X-Signature') ?? '';
    if (claimed.length !== 64 || !timingSafeEqual(Buffer.from(claimed), Buffer.from(expected))) {
      return void response.status(401).end();
    }
    let event: { id: string };
    try {
      event = JSON.parse(body.toString()) as { id: string };
    } catch {
      return void response.status(400).end();
    }
    response.status(200).json({ ok: true });
    void database.insertEvent(event.id).then((isNew) => (isNew ? database.bookOrder(event.id) : undefined));
  });

  app.get('/effects/:id', (request, response) => {
    response.json(database.whatBecameOf(request.params.id));
  });
  return app;
}
