/** As Google Cloud Functions and NestJS do. */
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import { createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { DEADLINE_MS, sendInPieces, testAfterOthers, type OtherCode, type ServedAfter } from './after-others.ts';
import { expectAccepted, expectDuplicate, expectRefused, BODY_CONSUMED, BODY_TOO_LARGE } from './expected-answer.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { serveNode } from './served-node.ts';
import { SECRET, signedEvent, signedEventOfSize } from '../helpers/signed-event.ts';
import { connect, requestHead, send } from './wire.ts';

type Before = (request: IncomingMessage) => unknown;

async function receivingAfter(before: Before): Promise<ServedAfter> {
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

function keeping(made: (bytes: Buffer) => object): Before {
  return async (request) => {
    const bytes = Buffer.concat((await request.toArray()) as Buffer[]);
    Object.assign(request, made(bytes));
  };
}

function parsed(bytes: Buffer): unknown {
  return bytes.byteLength === 0 ? {} : JSON.parse(bytes.toString());
}

const KEEPING: OtherCode<Before> = [
  [
    'keeps the bytes as Google Cloud Functions and NestJS do',
    keeping((bytes) => ({ rawBody: bytes, body: parsed(bytes) })),
  ],
  ['keeps a Uint8Array', keeping((bytes) => ({ rawBody: Uint8Array.from(bytes), body: parsed(bytes) }))],
  [
    'keeps a part of a larger buffer',
    keeping((bytes) => ({ rawBody: Buffer.concat([bytes, bytes]).subarray(bytes.byteLength) })),
  ],
  ['keeps the bytes in body, as express.raw() does', keeping((bytes) => ({ body: bytes }))],
  ['keeps the bytes in both', keeping((bytes) => ({ rawBody: bytes, body: bytes }))],
  ['keeps the bytes in body, beside a text', keeping((bytes) => ({ rawBody: bytes.toString(), body: bytes }))],
];

const LOST: OtherCode<Before> = [
  ['keeps nothing', keeping(() => ({}))],
  ['keeps a text', keeping((bytes) => ({ rawBody: bytes.toString() }))],
  ['keeps the characters as numbers', keeping((bytes) => ({ rawBody: [...bytes] }))],
  ['keeps an ArrayBuffer', keeping((bytes) => ({ rawBody: Uint8Array.from(bytes).buffer }))],
  ['keeps only what it parsed', keeping((bytes) => ({ body: parsed(bytes) }))],
  ['sets rawBody to true', keeping(() => ({ rawBody: true }))],
  ['keeps the first half', keeping((bytes) => ({ rawBody: bytes.subarray(0, bytes.byteLength / 2) }))],
  ['keeps all but the last byte', keeping((bytes) => ({ rawBody: bytes.subarray(0, -1) }))],
  ['keeps an empty buffer', keeping(() => ({ rawBody: Buffer.alloc(0) }))],
  ['keeps a text in UTF-16', keeping((bytes) => ({ rawBody: Buffer.from(bytes.toString(), 'utf16le') }))],
  [
    'keeps the last chunk only',
    async (request) => {
      for await (const part of request) Object.assign(request, { rawBody: part as unknown });
    },
  ],
];

describe.each(['content-length', 'chunked'] as const)(
  'hookbox/node, with a body that others have read (%s)',
  (framing) => {
    const fix = /request\.rawBody.*bodyParser: false.*rawBody: true.*Koa/;
    testAfterOthers(receivingAfter, { harmless: KEEPING, consuming: LOST, fix }, { framing });

    it.each(KEEPING)('answers 413 to a body over the limit after code that %s', async (_, before) => {
      await using served = await receivingAfter(before);

      const over = await send(served.url, { ...signedEventOfSize(1024 * 1024 + 1), framing });

      expectRefused(over, BODY_TOO_LARGE);
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

      // The part that has arrived must not blame the signature.
      if (answer.status === 200) expectAccepted(answer, event);
      else expectRefused(answer, BODY_CONSUMED);
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

    for (const expectAnswer of [expectAccepted, expectDuplicate]) {
      await connection.write(requestHead(served.url, event));
      await connection.write(event.body);
      expectAnswer(await connection.answer(), event);
    }
  });

  it('answers 500 where what was kept has one byte more than the Content-Length', async () => {
    const before = keeping((bytes) => ({ rawBody: Buffer.concat([bytes, Buffer.from('\n')]) }));
    await using served = await receivingAfter(before);

    const answer = await send(served.url, signedEvent());

    expectRefused(answer, BODY_CONSUMED);
  });
});
