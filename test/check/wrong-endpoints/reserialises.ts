import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express, type Request, type Response } from 'express';
import { PretendDatabase } from '../pretend-database.ts';

/** Verifies what express.json() made of the body, written again. */
export function reserialises(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();
  app.use(express.text({ type: '*/*', limit: '1mb' }));

  async function receive(request: Request, response: Response): Promise<void> {
    let event: { id: string };
    try {
      event = JSON.parse(String(request.body)) as { id: string };
    } catch {
      return void response.status(401).end();
    }
    const expected = createHmac('sha256', secret).update(JSON.stringify(event)).digest('hex');
    const claimed = request.get('X-Signature') ?? '';
    if (claimed.length !== expected.length || !timingSafeEqual(Buffer.from(claimed), Buffer.from(expected))) {
      return void response.status(401).end();
    }
    if (await database.insertEvent(event.id)) await database.bookOrder(event.id);
    response.status(200).end();
  }

  app.post('/webhooks', receive);
  app.get('/effects/:id', (request, response) => {
    response.json(database.effects(request.params.id));
  });
  return app;
}
