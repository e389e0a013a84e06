import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { type Express, type Request, type Response } from 'express';
import { PretendDatabase } from './pretend-database.ts';

/** An endpoint as a careful person writes it by hand, without hookbox. */
export function rightEndpoint(secret: string): Express {
  const database = new PretendDatabase();
  const app = express();

  async function receive(request: Request, response: Response): Promise<void> {
    const body: unknown = request.body;
    if (!Buffer.isBuffer(body) || !isAuthentic(body, request.get('X-Signature') ?? '')) {
      return void response.status(401).json({ error: 'wrong signature' });
    }
    const event = parsed(body);
    if (event === null) return void response.status(400).json({ error: 'not an event' });
    const isNew = await database.insertEvent(event.id);
    response.json({ ok: true });
    if (isNew) await database.bookOrder(event.id);
  }

  app.post('/webhooks', express.raw({ type: '*/*', limit: '1mb' }), receive);
  app.get('/effects/:id', (request, response) => {
    response.json(database.whatBecameOf(request.params.id));
  });

  function isAuthentic(body: Buffer, signature: string): boolean {
    if (!/^[0-9a-f]{64}$/.test(signature)) return false;
    const expected = createHmac('sha256', secret).update(body).digest('hex');
    return timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
  }

  return app;
}

function parsed(body: Buffer): { readonly id: string } | null {
  try {
    const event = JSON.parse(body.toString()) as { id?: unknown } | null;
    return typeof event?.id === 'string' ? { id: event.id } : null;
  } catch {
    return null;
  }
}
