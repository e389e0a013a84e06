import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { webhookHandler, type WaitUntil } from '../../adapters/fetch.ts';
import { createReceiver, type Inbox, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { endless, sourceOf } from './byte-source.ts';
import { expectAccepted, expectRefused, BODY_CONSUMED, BODY_TOO_LARGE, TIMEOUT } from './expected-answer.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { SECRET, signedEvent, type SignedDelivery, WELL_FORMED } from '../helpers/signed-event.ts';
import type { Answer } from './wire.ts';

const DEADLINE_MS = 300;
const URL = 'https://shop.example/webhooks';

function requestOf({ headers, body }: SignedDelivery, more: Readonly<Record<string, string>> = {}): Request {
  return requestWith(headers, Buffer.from(body), more);
}

function requestWith(
  headers: SignedDelivery['headers'],
  body: NonNullable<ConstructorParameters<typeof Request>[1]>['body'],
  more: Readonly<Record<string, string>> = {},
): Request {
  const all = new Headers(headers.map(([...pair]) => pair));
  for (const [name, value] of Object.entries(more)) all.append(name, value);
  return new Request(URL, { method: 'POST', headers: all, body: body ?? null, duplex: 'half' });
}

async function seen(response: Response): Promise<Answer> {
  return { status: response.status, headers: new Map(response.headers), body: await response.text() };
}

interface Handling {
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
  readonly finish: (failure?: Error) => void;
  readonly fetch: (request: Request, ...context: readonly unknown[]) => Promise<Answer>;
}

function handling(waitUntil?: WaitUntil, options: Partial<ReceiverOptions> = {}): Handling {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    logger,
    deadlineMs: DEADLINE_MS,
    handlers: { '*': () => promise },
    processing: { mode: 'inline' },
    ...options,
  });
  const handler = webhookHandler(receiver, waitUntil && { waitUntil });
  return {
    inbox,
    log: lines,
    finish: (failure) => (failure === undefined ? resolve() : reject(failure)),
    fetch: async (request, ...context) => seen(await handler(request, ...context)),
  };
}

/** As on the hosts, a call without its `this` throws. */
class ExecutionContext {
  readonly #work: Promise<unknown>[] = [];

  waitUntil(work: Promise<unknown>): void {
    this.#work.push(work);
  }

  get work(): readonly Promise<unknown>[] {
    return this.#work;
  }
}

// The first delivery of a process may take longer than the deadline.
beforeAll(async () => {
  const { fetch, finish } = handling(undefined, { deadlineMs: 10_000 });
  finish();
  expect(await fetch(requestOf(signedEvent()))).toMatchObject({ status: 200 });
});

describe('waitUntil', () => {
  const env = { ORDERS: { get: async () => null }, waitUntil: 'a variable of the merchant' };
  const passed: readonly (readonly [how: string, beside: (context: ExecutionContext) => readonly unknown[]])[] = [
    ['(request, env, context), as Cloudflare passes them', (context) => [env, context]],
    ['(request, context), as Netlify and Vercel pass them', (context) => [context]],
    ['(request, undefined, context)', (context) => [undefined, context]],
    ['(request, a text, null, context)', (context) => ['text', null, context]],
  ];

  it.each(passed)('is found in %s, and is given what outlives the deadline until it ends', async (_, beside) => {
    const context = new ExecutionContext();
    const { fetch, finish, inbox } = handling();

    const answer = await fetch(requestOf(signedEvent()), ...beside(context));

    expectRefused(answer, TIMEOUT);
    expect(context.work).toHaveLength(1);
    expect(await settledWithin(30, context.work[0])).toBe(false);
    finish();
    expect(await settledWithin(1_000, context.work[0])).toBe(true);
    expect(await inbox.list()).toMatchObject([{ state: 'processed' }]);
  });

  it('is taken from the options first', async () => {
    const context = new ExecutionContext();
    const waitUntil = vi.fn<WaitUntil>();
    const { fetch, finish } = handling(waitUntil);

    expect(await fetch(requestOf(signedEvent()), env, context)).toMatchObject({ status: 503 });

    expect(waitUntil).toHaveBeenCalledExactlyOnceWith(expect.any(Promise));
    expect(context.work).toEqual([]);
    finish();
  });

  it('is given a promise that never rejects, though the handler fails in the end', async () => {
    const context = new ExecutionContext();
    const { fetch, finish, inbox } = handling();
    await fetch(requestOf(signedEvent()), context);

    finish(new Error('the handler has failed'));

    await expect(context.work[0]).resolves.toBeDefined();
    expect(await inbox.list()).toMatchObject([{ state: 'pending' }]);
  });

  it.each([
    ['a handler that ends in time', undefined, 200],
    ['a handler that fails in time', new Error('no'), 500],
  ])('is not called for %s', async (_, failure, status) => {
    const context = new ExecutionContext();
    const { fetch, finish } = handling();
    finish(failure);

    expect(await fetch(requestOf(signedEvent()), env, context)).toMatchObject({ status });

    expect(context.work).toEqual([]);
  });

  it('is not called in background mode, for what is refused, or for a body that hangs', async () => {
    const context = new ExecutionContext();
    const background = handling(undefined, { processing: { mode: 'background' } });
    const { fetch } = handling();
    const { stream } = sourceOf([], 'hang');

    expect(await background.fetch(requestOf(signedEvent()), context)).toMatchObject({ status: 200 });
    expect(await fetch(requestWith([], '{}'), context)).toMatchObject({ status: 401 });
    expect(await fetch(requestWith(signedEvent().headers, stream), context)).toMatchObject({ status: 503 });

    expect(context.work).toEqual([]);
  });

  const others: readonly (readonly [what: string, context: readonly unknown[]])[] = [
    ['nothing', []],
    ['null and undefined', [null, undefined]],
    ['the parameters of a route of Next.js', [{ params: Promise.resolve({ shop: '7' }) }]],
    ['the server of Bun', [{ port: 3000, requestIP: () => null, upgrade: () => false }]],
    ['the info of Deno', [{ remoteAddr: { hostname: '127.0.0.1', port: 4711 }, completed: Promise.resolve() }]],
    ['a waitUntil that is no function', [{ waitUntil: true }, { waitUntil: null }]],
    ['a function', [(): void => {}]],
  ];

  it.each(others)('may be missing: %s beside the request', async (_, context) => {
    const { fetch, finish, inbox } = handling();

    const answer = await fetch(requestOf(signedEvent()), ...context);

    expectRefused(answer, TIMEOUT);
    finish();
    await expect.poll(() => inbox.list()).toMatchObject([{ state: 'processed' }]);
  });

  it('may fail: the service is told to send again', async () => {
    const { fetch, finish } = handling(() => {
      throw new TypeError('Illegal invocation');
    });

    expect(await fetch(requestOf(signedEvent()))).toMatchObject({ status: 503 });
    finish();
  });
});

describe('a request to hookbox/fetch', () => {
  const receiving = (options: Partial<ReceiverOptions> = {}): Handling =>
    handling(undefined, { handlers: {}, ...options });

  const consumed: readonly (readonly [what: string, before: (request: Request) => unknown])[] = [
    ['was read as text', (request) => request.text()],
    ['was read as JSON', (request) => request.json()],
    ['is being read', (request) => void request.arrayBuffer()],
    ['is locked by a reader', (request) => request.body?.getReader()],
    ['was cancelled', (request) => request.body?.cancel()],
    ['was put into another request', (request) => new Request(request)],
  ];

  it.each(consumed)('whose body %s is 500 at once, and the log says so', async (_, before) => {
    const { fetch, log, inbox } = receiving();
    const request = requestOf(signedEvent());
    await before(request);

    expectRefused(await fetch(request), BODY_CONSUMED);

    expect(log).toMatchObject([{ level: 'error', facts: { reason: 'body-consumed' } }]);
    expect(JSON.stringify(log)).toMatch(/before body parsers/i);
    expect(await inbox.list()).toEqual([]);
  });

  it('whose body was read from a clone is taken', async () => {
    const event = signedEvent();
    const request = requestOf(event);
    await request.clone().json();

    expectAccepted(await receiving().fetch(request), event);
  });

  it.each(['0', '5', 'many', '1001'])(
    'without an end is 413 once some of the rest was read, though its Content-Length says %j',
    async (length) => {
      const source = sourceOf(endless(new Uint8Array(10_000)));
      const request = requestWith([WELL_FORMED], source.stream, { 'Content-Length': length });

      const answer = await receiving({ maxBodyBytes: 1_000 }).fetch(request);

      expectRefused(answer, BODY_TOO_LARGE);
      await delay(20);
      expect(source.pulled()).toBeLessThan(425); // 4 MiB
    },
  );
});

async function settledWithin(ms: number, work: Promise<unknown> | undefined): Promise<boolean> {
  return Promise.race([Promise.resolve(work).then(() => true), delay(ms, false)]);
}
