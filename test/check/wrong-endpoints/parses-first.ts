import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express, type Request, type Response } from 'express';
import { PretendDatabase } from '../pretend-database.ts';

/** express.json() for the whole app, with the raw bytes kept on the side: right about bytes, but it parses forgeries. */
export function parsesFirst(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();
  const rawBodies = new WeakMap<object, Buffer>();
  app.use(express.json({ verify: (request, _response, bytes) => void rawBodies.set(request, bytes) }));

  async function receive(request: Request, response: Response): Promise<void> {
    const raw = rawBodies.get(request) ?? Buffer.alloc(0);
    const expected = createHmac('sha256', secret).update(raw).digest('hex');
    const claimed = request.get('X-Signature') ?? '';
    if (claimed.length !== expected.length || !timingSafeEqual(Buffer.from(claimed), Buffer.from(expected))) {
      return void response.status(401).json({ error: 'wrong signature' });
    }
    const { id } = request.body as { id: string };
    if (await database.insertEvent(id)) await database.bookOrder(id);
    response.json({ ok: true });
  }

  app.post('/webhooks', receive);
  app.get('/effects/:id', (request, response) => {
    response.json(database.effects(request.params.id));
  });
  return app;
}
