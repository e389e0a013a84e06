/** What hookbox/node makes of bytes that others have kept: Google Cloud Functions, NestJS, and code that does as they do. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import { createReceiver, type Inbox } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { expectAccepted, expectRefused } from './expected-answer.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { serveNode, type ServedNode } from './served-node.ts';
import { SECRET, signedEvent, signedEventOfSize, WELL_FORMED } from '../helpers/signed-event.ts';
import { chunk, connect, LAST_CHUNK, requestHead, send, type Answer } from './wire.ts';

const DEADLINE_MS = 1_000;
/** Far from the deadline: nothing may wait for a body that has gone. */
const AT_ONCE_MS = 500;

interface Receiving extends ServedNode {
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
}

type Before = (request: IncomingMessage) => unknown;

async function receivingAfter(before: Before): Promise<Receiving> {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const receiver = createReceiver({ secret: SECRET, inbox, logger, deadlineMs: DEADLINE_MS });
  const handler = webhookHandler(receiver);
  const served = await serveNode(async (request, response) => {
    await before(request);
    await handler(request, response);
  });
  return { ...served, inbox, log: lines };
}

/** Reads the whole body and puts something that was made of it on the request. */
function keeping(made: (bytes: Buffer) => object): Before {
  return async (request) => {
    const bytes = Buffer.concat((await request.toArray()) as Buffer[]);
    Object.assign(request, made(bytes));
  };
}

function parsed(bytes: Buffer): unknown {
  return bytes.byteLength === 0 ? {} : JSON.parse(bytes.toString());
}

const KEEPING: readonly (readonly [what: string, before: Before])[] = [
  ['as Google Cloud Functions and NestJS do', keeping((bytes) => ({ rawBody: bytes, body: parsed(bytes) }))],
  ['as a Uint8Array', keeping((bytes) => ({ rawBody: Uint8Array.from(bytes), body: parsed(bytes) }))],
  [
    'as a part of a larger buffer',
    keeping((bytes) => ({ rawBody: Buffer.concat([bytes, bytes]).subarray(bytes.byteLength) })),
  ],
  ['in body, as express.raw() does', keeping((bytes) => ({ body: bytes }))],
  ['in both', keeping((bytes) => ({ rawBody: bytes, body: bytes }))],
  ['in body, beside a text', keeping((bytes) => ({ rawBody: bytes.toString(), body: bytes }))],
];

/** Each leaves nothing that could be verified. */
const LOST: readonly (readonly [what: string, before: Before])[] = [
  ['nothing was kept', keeping(() => ({}))],
  ['a text was kept', keeping((bytes) => ({ rawBody: bytes.toString() }))],
  ['the characters were kept as bytes of their own', keeping((bytes) => ({ rawBody: [...bytes] }))],
  ['an ArrayBuffer was kept', keeping((bytes) => ({ rawBody: Uint8Array.from(bytes).buffer }))],
  ['only what was parsed was kept', keeping((bytes) => ({ body: parsed(bytes) }))],
  ['rawBody is true', keeping(() => ({ rawBody: true }))],
];

/** Bytes were kept, but not all of them, or others: `bytes` is what was sent. */
const INCOMPLETE: readonly (readonly [what: string, before: Before])[] = [
  ['the first half', keeping((bytes) => ({ rawBody: bytes.subarray(0, bytes.byteLength / 2) }))],
  ['all but the last byte', keeping((bytes) => ({ rawBody: bytes.subarray(0, -1) }))],
  ['nothing', keeping(() => ({ rawBody: Buffer.alloc(0) }))],
  ['a text in UTF-16', keeping((bytes) => ({ rawBody: Buffer.from(bytes.toString(), 'utf16le') }))],
  [
    'the last chunk, by code that forgot to put them together',
    async (request) => {
      for await (const part of request) Object.assign(request, { rawBody: part as unknown });
    },
  ],
];

/** In pieces, so that there is a last chunk that is not the first. */
async function sendInPieces(
  url: string,
  { body, headers, framing }: Parameters<typeof requestHead>[1] & { body: Uint8Array },
): Promise<Answer> {
  await using connection = await connect(url);
  await connection.write(requestHead(url, { body, ...(headers && { headers }), ...(framing && { framing }) }));
  for (const piece of [body.subarray(0, 100), body.subarray(100)]) {
    await connection.write(framing === 'chunked' ? chunk(piece) : piece);
    await delay(20);
  }
  if (framing === 'chunked') await connection.write(LAST_CHUNK);
  return await connection.answer();
}

describe.each(['content-length', 'chunked'] as const)(
  'hookbox/node, with a body that others have read (%s)',
  (framing) => {
    it.each(KEEPING)('takes the bytes that were kept %s', async (_, before) => {
      await using served = await receivingAfter(before);
      const event = signedEvent({ note: 'é🥐' });

      expectAccepted(await send(served.url, { ...event, framing }), { id: event.id, duplicate: false });

      const [stored] = await served.inbox.list();
      expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
    });

    it.each(KEEPING)(
      'refuses a forged request, and one over the limit, whose bytes were kept %s',
      async (_, before) => {
        await using served = await receivingAfter(before);
        const { headers } = signedEvent();

        const forged = await send(served.url, { body: signedEvent().body, headers, framing });
        const over = await send(served.url, { ...signedEventOfSize(1024 * 1024 + 1), framing });

        expectRefused(forged, { status: 401, code: 'INVALID_SIGNATURE' });
        expectRefused(over, { status: 413, code: 'BODY_TOO_LARGE', closes: true });
        expect(await served.inbox.list()).toEqual([]);
      },
    );

    it.each(LOST)('answers 500 at once where %s, and the log names the fix', async (_, before) => {
      await using served = await receivingAfter(before);
      const event = signedEvent();

      for (const parts of [
        event,
        { headers: [WELL_FORMED], body: event.body },
        { ...event, body: signedEvent().body },
      ]) {
        const began = performance.now();
        expectRefused(await send(served.url, { ...parts, framing }), { status: 500, code: 'BODY_CONSUMED' });
        expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
      }

      expect(served.log[0]).toMatchObject({
        level: 'error',
        facts: { reason: 'body-consumed' },
        message: expect.stringMatching(/request\.rawBody.*bodyParser: false.*rawBody: true.*Koa/) as unknown,
      });
      expect(await served.inbox.list()).toEqual([]);
    });

    it.each(INCOMPLETE)('answers 500, and never blames the signature, where what was kept is %s', async (_, before) => {
      await using served = await receivingAfter(before);
      const event = signedEvent();

      const answer = await sendInPieces(served.url, { ...event, framing });

      expectRefused(answer, { status: 500, code: 'BODY_CONSUMED' });
      expect(await served.inbox.list()).toEqual([]);
    });

    it('reads for itself what others are still putting together', async () => {
      await using served = await receivingAfter((request) => {
        const kept = Object.assign(request, { rawBody: Buffer.alloc(0) });
        request.on('data', (part: Buffer) => {
          kept.rawBody = Buffer.concat([kept.rawBody, part]);
        });
      });
      const event = signedEvent();

      const answer = await sendInPieces(served.url, { ...event, framing });

      // Or says that it cannot: what has arrived so far is no reason to blame the signature.
      if (answer.status === 200) expectAccepted(answer, { id: event.id, duplicate: false });
      else expectRefused(answer, { status: 500, code: 'BODY_CONSUMED' });
    });
  },
);

describe('hookbox/node, with bytes that others have kept', () => {
  it('takes them though nobody has read the stream, and the connection stays', async () => {
    const event = signedEvent();
    await using served = await receivingAfter((request) =>
      Object.assign(request, { rawBody: Buffer.from(event.body) }),
    );
    await using connection = await connect(served.url);

    for (const duplicate of [false, true]) {
      await connection.write(requestHead(served.url, event));
      await connection.write(event.body);
      expectAccepted(await connection.answer(), { id: event.id, duplicate });
    }
  });

  it('answers 500 where what was kept has one byte more than the Content-Length', async () => {
    const before = keeping((bytes) => ({ rawBody: Buffer.concat([bytes, Buffer.from('\n')]) }));
    await using served = await receivingAfter(before);

    const answer = await send(served.url, signedEvent());

    expectRefused(answer, { status: 500, code: 'BODY_CONSUMED' });
  });
});
