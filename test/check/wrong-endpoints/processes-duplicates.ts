import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express, type Request, type Response } from 'express';
import { PretendDatabase } from '../pretend-database.ts';

/** Each delivery is one more order: nobody looks at the id. */
export function processesDuplicates(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();

  async function receive(request: Request, response: Response): Promise<void> {
    const body = request.body as Buffer;
    const expected = createHmac('sha256', secret).update(body).digest('hex');
    const claimed = request.get('X-Signature') ?? '';
    if (claimed.length !== expected.length || !timingSafeEqual(Buffer.from(claimed), Buffer.from(expected))) {
      return void response.status(401).end();
    }
    try {
      const event = JSON.parse(body.toString()) as { id: string };
      await database.bookOrder(event.id);
      response.status(200).end();
    } catch {
      response.status(400).end();
    }
  }

  app.post('/webhooks', express.raw({ type: '*/*', limit: '1mb' }), receive);
  app.get('/effects/:id', (request, response) => {
    response.json({ count: database.effects(request.params.id) });
  });
  return app;
}
