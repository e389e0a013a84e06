import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { PretendDatabase } from '../pretend-database.ts';

const MAX_BYTES = 64 * 1024;

/** Destroys the connection at its limit, so that the sender never learns why. */
export function cutsLargeBodies(secret: string): RequestListener {
  const database = new PretendDatabase();

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size > MAX_BYTES) request.destroy();
      chunks.push(chunk);
    });
    request.on('error', () => {});
    request.on('end', () => void take(Buffer.concat(chunks), String(request.headers['x-signature'] ?? ''), response));
  }

  async function take(body: Buffer, claimed: string, response: ServerResponse): Promise<void> {
    const expected = createHmac('sha256', secret).update(body).digest('hex');
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
    response.writeHead(200).end();
  }

  return (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname.startsWith('/effects/')) response.end(String(database.effects(pathname.slice('/effects/'.length))));
    else if (request.method === 'POST') receive(request, response);
    else response.writeHead(405, { Allow: 'POST' }).end();
  };
}
