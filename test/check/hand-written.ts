import { createHmac, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { eventTypes } from '../../src/events/event-types.ts';
import { PretendDatabase } from './pretend-database.ts';

interface Event {
  readonly id: string;
  readonly type?: string;
}

interface Endpoint {
  readonly parser: RequestHandler;
  readonly bodyOf: (request: Request) => Buffer;
  readonly isAuthentic: (body: Buffer, signature: string, secret: string) => boolean;
  /** stores and handles an event, and answers */
  readonly take: (event: Event, database: PretendDatabase, response: Response) => Promise<unknown>;
}

const digits = (body: Buffer | string, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

const areEqual = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

/** An endpoint as a careful person writes it by hand, without hookbox. */
const RIGHT: Endpoint = {
  parser: express.raw({ type: '*/*', limit: '1mb' }),
  bodyOf: (request) => request.body as Buffer,
  isAuthentic: (body, signature, secret) =>
    /^[0-9a-f]{64}$/.test(signature) && areEqual(Buffer.from(digits(body, secret)), Buffer.from(signature)),
  async take({ id }, database, response) {
    const isNew = await database.insertEvent(id);
    response.json({ ok: true });
    if (isNew) await database.bookOrder(id);
  },
};

/** How long the mail takes that is sent before the answer. */
export const MAIL_MS = 300;

/** What careless people write instead. */
const WRONG = {
  acceptsForged: { isAuthentic: () => true },
  acceptsUnsigned: {
    isAuthentic: (body, signature, secret) => signature === '' || signature === digits(body, secret),
  },
  answersLate: {
    async take({ id }, database, response) {
      if (await database.insertEvent(id)) await database.bookOrder(id);
      await delay(MAIL_MS);
      response.json({ ok: true });
    },
  },
  cutsLargeBodies: {
    parser(request: Request, _response, next) {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (Buffer.concat(chunks).byteLength > 64 * 1024) request.destroy();
      });
      request.on('error', () => {});
      request.on('end', () => {
        request.body = Buffer.concat(chunks);
        next();
      });
    },
  },
  failsOnUnknownTypes: {
    async take(event, database, response) {
      if (!eventTypes.some((type) => type === event.type)) throw new Error(`no handler for ${event.type}`);
      await RIGHT.take(event, database, response);
    },
  },
  lenientSignature: {
    isAuthentic: (body, signature, secret) =>
      areEqual(Buffer.from(signature.replace(/^sha256=/, ''), 'hex'), Buffer.from(digits(body, secret), 'hex')),
  },
  looksBeforeInserting: {
    async take({ id }, database, response) {
      if (!(await database.hasEvent(id))) {
        await database.bookOrder(id);
        await database.insertEvent(id);
      }
      response.json({ ok: true });
    },
  },
  parsesFirst: {
    parser: express.json({ verify: (request, _response, rawBody) => void Object.assign(request, { rawBody }) }),
    bodyOf: (request) => (request as Request & { rawBody?: Buffer }).rawBody ?? Buffer.alloc(0),
  },
  processesDuplicates: {
    async take({ id }, database, response) {
      await database.insertEvent(id);
      await database.bookOrder(id);
      response.json({ ok: true });
    },
  },
  reserialises: {
    parser: express.text({ type: '*/*', limit: '1mb' }),
    bodyOf: (request) => Buffer.from(String(request.body)),
    isAuthentic: (body, signature, secret) =>
      RIGHT.isAuthentic(Buffer.from(JSON.stringify(parsed(body))), signature, secret),
  },
  storesAfterAnswer: {
    async take({ id }, database, response) {
      response.json({ ok: true });
      if (await database.insertEvent(id)) await database.bookOrder(id);
    },
  },
} as const satisfies Readonly<Record<string, Partial<Endpoint>>>;

export type Mistake = keyof typeof WRONG;

/** @param mistake - without one, it is right */
export function handWritten(secret: string, mistake?: Mistake): Express {
  const { parser, bodyOf, isAuthentic, take }: Endpoint = { ...RIGHT, ...(mistake && WRONG[mistake]) };
  const database = new PretendDatabase();
  const app = express();
  app.use('/webhooks', (request, response, next) => {
    if (request.method === 'POST') parser(request, response, next);
    else next();
  });
  app.post('/webhooks', async (request, response) => {
    const body = bodyOf(request);
    if (!isAuthentic(body, request.get('X-Signature') ?? '', secret)) return void response.sendStatus(401);
    const event = parsed(body);
    if (event === null) return void response.sendStatus(400);
    await take(event, database, response);
  });
  app.get('/effects/:id', (request, response) => void response.json(database.whatBecameOf(request.params.id)));
  return app;
}

function parsed(body: Buffer): Event | null {
  try {
    const event = JSON.parse(body.toString()) as Partial<Event> | null;
    return typeof event?.id === 'string' ? { ...event, id: event.id } : null;
  } catch {
    return null;
  }
}
