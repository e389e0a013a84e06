// What a careful merchant writes by hand: Express, the signature, and one durable insert a request.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
import express from 'express';
import { databaseFile } from './shared/arguments.ts';
import { listen } from './shared/report-port.ts';
import { secret } from '../load/signing-schemes.ts';

const database = new Database(databaseFile());
database.pragma('journal_mode = WAL');
// After journal_mode: better-sqlite3 is compiled to fall back to NORMAL on a new WAL database otherwise.
database.pragma('synchronous = FULL');
database.exec('CREATE TABLE events (id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, body BLOB NOT NULL)');
const insert = database.prepare('INSERT OR IGNORE INTO events (id, type, body) VALUES (?, ?, ?)');

function isAuthentic(body: Buffer, signature: string | undefined): boolean {
  if (signature === undefined || !/^[0-9a-f]{64}$/.test(signature)) return false;
  return timingSafeEqual(createHmac('sha256', secret).update(body).digest(), Buffer.from(signature, 'hex'));
}

const app = express();
app.post('/webhooks', express.raw({ type: 'application/json' }), (request, response) => {
  const body: Buffer = request.body;
  if (!isAuthentic(body, request.get('x-signature'))) {
    response.status(401).json({ error: { code: 'INVALID_SIGNATURE' } });
    return;
  }
  const event: { id: string; type: string } = JSON.parse(body.toString('utf8'));
  const { changes } = insert.run(event.id, event.type, body);
  response.json({ received: true, duplicate: changes === 0, id: event.id });
});

listen(createServer(app));
