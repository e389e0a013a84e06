import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { eventTypes } from '../../../src/events/event-types.ts';
import { PretendDatabase } from '../pretend-database.ts';

const MAX_BYTES = 1024 * 1024;

/** A table of what to do for each type, and an exception for whatever is not in it. */
export function failsOnUnknownTypes(secret: string): RequestListener {
  const database = new PretendDatabase();
  const handlers = new Map<string, (id: string) => Promise<void>>(
    eventTypes.map((type) => [type, (id) => database.bookOrder(id)]),
  );

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    if (body.byteLength > MAX_BYTES) return void response.writeHead(413).end();
    const expected = createHmac('sha256', secret).update(body).digest('hex');
    const claimed = String(request.headers['x-signature'] ?? '');
    if (claimed.length !== expected.length || !timingSafeEqual(Buffer.from(claimed), Buffer.from(expected))) {
      return void response.writeHead(401).end();
    }
    let event: { id: string; type: string };
    try {
      event = JSON.parse(body.toString()) as { id: string; type: string };
    } catch {
      return void response.writeHead(400).end();
    }
    const handler = handlers.get(event.type);
    if (handler === undefined) throw new Error(`no handler for ${event.type}`);
    if (await database.insertEvent(event.id)) await handler(event.id);
    response.writeHead(200).end();
  }

  return (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname.startsWith('/effects/')) {
      response.end(String(database.effects(pathname.slice('/effects/'.length))));
    } else if (request.method === 'POST') {
      receive(request, response).catch(() => response.writeHead(500).end());
    } else response.writeHead(405, { Allow: 'POST' }).end();
  };
}
