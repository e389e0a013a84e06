import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express, type Request, type Response } from 'express';
import { PretendDatabase } from '../pretend-database.ts';

/** Looks whether it knows the id, and then does the work: two copies at once both find nothing. */
export function looksBeforeInserting(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();

  async function receive(request: Request, response: Response): Promise<void> {
    const body = request.body as Buffer;
    const expected = createHmac('sha256', secret).update(body).digest('hex');
    const claimed = request.get('X-Signature') ?? '';
    if (claimed.length !== expected.length || !timingSafeEqual(Buffer.from(claimed), Buffer.from(expected))) {
      return void response.status(401).end();
    }
    let event: { id: string };
    try {
      event = JSON.parse(body.toString()) as { id: string };
    } catch {
      return void response.status(400).end();
    }
    if (!(await database.hasEvent(event.id))) {
      await database.bookOrder(event.id);
      await database.insertEvent(event.id);
    }
    response.status(200).end();
  }

  app.post('/webhooks', express.raw({ type: '*/*', limit: '1mb' }), receive);
  app.get('/effects/:id', (request, response) => {
    response.json(database.effects(request.params.id));
  });
  return app;
}
