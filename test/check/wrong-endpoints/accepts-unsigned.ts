import { createHmac } from 'node:crypto';
import express, { type Express, type Request, type Response } from 'express';
import { PretendDatabase } from '../pretend-database.ts';

/** The signature is checked "if there is one", so that tests by hand are easier. */
export function acceptsUnsigned(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();

  async function receive(request: Request, response: Response): Promise<void> {
    const body = request.body as Buffer;
    const signature = request.get('X-Signature');
    const expected = createHmac('sha256', secret).update(body).digest('hex');
    if (signature && signature !== expected) return void response.sendStatus(401);

    let event: { id: string };
    try {
      event = JSON.parse(body.toString()) as { id: string };
    } catch {
      return void response.sendStatus(422);
    }
    if (await database.insertEvent(event.id)) await database.bookOrder(event.id);
    response.sendStatus(204);
  }

  app.post('/webhooks', express.raw({ type: '*/*', limit: '1mb' }), receive);
  app.get('/effects/:id', (request, response) => {
    response.json({ count: database.effects(request.params.id) });
  });
  return app;
}
