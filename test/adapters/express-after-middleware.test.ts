// @module-tag long
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHandler } from 'express';
import { describe } from 'vitest';
import { testAfterOthers, type OtherCode } from './after-others.ts';
import { EXPRESSES, serveBehind, type ExpressModule } from './express-app.ts';

type Before = (express: ExpressModule) => RequestHandler;

function first(before: (request: IncomingMessage) => unknown): Before {
  return () => async (request, _response, next) => {
    await before(request);
    next();
  };
}

/** In the same turn of the event loop. */
function atOnce(before: (request: IncomingMessage) => unknown): Before {
  return () => (request, _response, next) => {
    before(request);
    next();
  };
}

function parsing(kept: (bytes: Buffer) => unknown, type = 'application/json'): Before {
  const verify = (request: IncomingMessage, _: ServerResponse, bytes: Buffer): void => {
    Object.assign(request, { rawBody: kept(bytes) });
  };
  return (express) => express.json({ limit: '2mb', type, verify });
}

const inTurn =
  (...all: readonly Before[]): Before =>
  (express) =>
    express.Router().use(...all.map((before) => before(express)));

const formReader: RequestHandler = (request, _, next) => {
  if (request.is('multipart/form-data') === false) return next();
  request.pipe(new PassThrough()).resume().on('end', next);
};

const HARMLESS: OtherCode<Before> = [
  ['parses JSON and keeps the bytes as rawBody', parsing((bytes) => bytes)],
  ['parses everything as JSON and keeps the bytes', parsing((bytes) => bytes, '*/*')],
  ['parses JSON and keeps a copy of the bytes', parsing((bytes) => Uint8Array.from(bytes))],
  ['parses JSON of another type', (express) => express.json({ type: 'application/vnd.api+json' })],
  ['parses forms', (express) => express.urlencoded({ extended: true })],
  ['parses texts', (express) => express.text()],
  ['reads bytes of every type', (express) => express.raw({ type: '*/*', limit: '2mb' })],
  ['reads bytes of JSON', (express) => express.raw({ type: 'application/json', limit: '2mb' })],
  ['reads bytes of another type', (express) => express.raw()],
  [
    'reads bytes, and then parses what is left',
    inTurn(
      (express) => express.raw({ type: '*/*', limit: '2mb' }),
      parsing((bytes) => bytes.toString()),
    ),
  ],
  ['reads forms with files', () => formReader],
  ['takes its time', first(() => delay(30))],
  ['takes its time after the body has arrived', first(() => delay(80))],
  ['pauses the request', atOnce((request) => request.pause())],
  ['pauses the request and takes its time', first((request) => (request.pause(), delay(30)))],
  ['looks at the pieces as they come by', atOnce((request) => request.on('data', () => {}))],
  ['hashes the body as it comes by', atOnce((request) => request.pipe(createHash('sha256')))],
  ['waits for the end of the request', atOnce((request) => request.on('end', () => {}))],
];

const CONSUMING: OtherCode<Before> = [
  ['parses JSON', (express) => express.json({ limit: '2mb' })],
  ['parses JSON and keeps a text as rawBody', parsing((bytes) => bytes.toString())],
  ['parses JSON and keeps half of the bytes', parsing((bytes) => bytes.subarray(0, bytes.byteLength / 2))],
  ['parses JSON and keeps the length only', parsing((bytes) => bytes.byteLength)],
  ['reads everything as a text', (express) => express.text({ type: '*/*', limit: '2mb' })],
  ['reads everything as a form', (express) => express.urlencoded({ extended: false, type: '*/*', limit: '2mb' })],
  [
    'parses JSON, and then reads bytes',
    inTurn(
      (express) => express.json({ limit: '2mb' }),
      (express) => express.raw({ type: '*/*', limit: '2mb' }),
    ),
  ],
  ['drains the request', first((request) => once(request.resume(), 'end'))],
  [
    'keeps the last piece only',
    first(async (request) => {
      for await (const part of request) Object.assign(request, { rawBody: part as unknown });
    }),
  ],
  ['has read a part of it', first(async (request) => (await once(request, 'readable'), request.read(20) as unknown))],
  ['makes text of the request', atOnce((request) => void request.setEncoding('utf8'))],
  ['makes text of the request and reads it', first((request) => request.setEncoding('utf8').toArray())],
];

const KINDS = [
  ['handler', 'content-length', 500],
  ['handler', 'chunked', 900_000],
  ['verifier', 'content-length', 900_000],
  ['verifier', 'chunked', 500],
] as const;

describe.each(EXPRESSES)('hookbox/express on %s', (_, load) => {
  describe.each(KINDS)('webhook %s, a %s body of %i bytes', (what, framing, bytes) => {
    testAfterOthers<Before>(
      (before) => serveBehind(load(), before(load()), { what }),
      { harmless: HARMLESS, consuming: CONSUMING, fix: /before express\.json\(\).*rawBody = bytes/ },
      { what, framing, bytes },
    );
  });
});
