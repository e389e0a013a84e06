import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { PretendDatabase } from '../pretend-database.ts';

/** How long the mail takes that is sent before the answer. */
export const MAIL_MS = 300;

const MAX_BYTES = 1024 * 1024;

/** Stores the event and then sends a mail while the delivery waits. */
export function answersLate(secret: string): RequestListener {
  const database = new PretendDatabase();

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    if (body.byteLength > MAX_BYTES) return void response.writeHead(413).end();
    const expected = createHmac('sha256', secret).update(body).digest('hex');
    const claimed = String(request.headers['x-signature'] ?? '');
    if (claimed.length !== expected.length || !timingSafeEqual(Buffer.from(claimed), Buffer.from(expected))) {
      return void response.writeHead(401).end();
    }
    let event: { id: string };
    try {
      event = JSON.parse(body.toString()) as { id: string };
    } catch {
      return void response.writeHead(400).end();
    }
    if (await database.insertEvent(event.id)) await database.bookOrder(event.id);
    await delay(MAIL_MS);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"ok":true}');
  }

  return (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname.startsWith('/effects/')) response.end(String(database.effects(pathname.slice('/effects/'.length))));
    else if (request.method === 'POST') void receive(request, response);
    else response.writeHead(405, { Allow: 'POST' }).end();
  };
}
