import { createServer, type AddressInfo, type Socket } from 'node:net';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isPermanent, messageOf, nameOf, PermanentError, RetryLaterError, requestedWait } from '../../src/errors.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import { attemptError, codeOf } from '../../src/processing/attempt-log.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { nameAndCode } from '../../src/receive/outcome.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';

async function failing(url: string): Promise<Error> {
  return fetch(url).then(
    () => expect.unreachable(),
    (failure: unknown) => failure as Error,
  );
}

async function portThat(connected: (socket: Socket) => void): Promise<number> {
  const server = createServer(connected);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('what is kept of an error', () => {
  it('says why fetch failed, and tells the reasons apart', async () => {
    const unknown = await failing('http://no-such-shop.invalid/orders');
    const refused = await failing(`http://127.0.0.1:${await closedPort()}/`);
    const reset = await failing(`http://127.0.0.1:${await portThat((socket) => socket.resetAndDestroy())}/`);
    const ended = await failing(`http://127.0.0.1:${await portThat((socket) => socket.end())}/`);
    const kept = [unknown, refused, reset, ended].map(attemptError);
    expect(kept.map(({ name }) => name)).toEqual(Array(4).fill('TypeError'));
    expect(kept.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^fetch failed: getaddrinfo (?:ENOTFOUND|EAI_AGAIN) no-such-shop\.invalid$/),
      expect.stringMatching(/^fetch failed: connect ECONNREFUSED 127\.0\.0\.1:\d+$/),
      expect.stringMatching(/^fetch failed: (?:read|connect) ECONNRESET/),
      expect.stringMatching(/^fetch failed: other side closed \(code UND_ERR_SOCKET\)$/),
    ]);
    expect(new Set(kept.map(fingerprintOf)).size).toBe(4);
    expect(kept[1]?.stack).toMatch(/^TypeError: fetch failed\n[^]*\[cause\]: Error: connect ECONNREFUSED/);
    expect(codeOf(refused)).toBe('ECONNREFUSED');
  });

  it.each<[string, unknown, string]>([
    ['a cause of a cause', new Error('a', { cause: new Error('b', { cause: new Error('c') }) }), 'a: b: c'],
    ['a cause that it names itself', new Error('no: b', { cause: new Error('b') }), 'no: b'],
    ['a cause without a text', new Error('a', { cause: new TypeError() }), 'a: TypeError'],
    [
      'the code of a cause',
      new Error('a', { cause: Object.assign(new Error('b'), { code: 'P2002' }) }),
      'a: b (code P2002)',
    ],
    ['what Promise.any has collected', new AggregateError([new Error('a'), new Error('b')], 'none'), 'none: a: b'],
    [
      'what net has collected, which says nothing itself',
      new TypeError('fetch failed', {
        cause: Object.assign(new AggregateError([new Error('connect ::1'), new Error('connect 127.0.0.1')]), {
          code: 'ECONNREFUSED',
        }),
      }),
      'fetch failed: connect ::1: connect 127.0.0.1',
    ],
    ['several that say the same', new AggregateError([new Error('a'), new Error('a')], ''), 'a'],
    ['a cause that is no error', new Error('a', { cause: { authorization: 'Bearer x' } }), 'a'],
    ['RetryLaterError', new RetryLaterError({ afterMs: 1, message: 'later', cause: new Error('429') }), 'later: 429'],
  ])('has %s', (_, thrown, message) => {
    expect(attemptError(thrown).message).toBe(message);
  });

  it('is bounded, whatever an error has behind it', () => {
    const ring = new Error('ring');
    ring.cause = new Error('round', { cause: ring });
    expect(attemptError(ring).message).toBe('ring: round');
    let deep = new Error('0');
    for (let depth = 1; depth < 10_000; depth += 1) deep = new Error(`${depth}`, { cause: deep });
    expect(attemptError(deep).message.split(': ')).toHaveLength(10);
    const wide = new AggregateError(
      Array.from({ length: 100_000 }, (_, at) => new Error(`no ${at} ${'x'.repeat(5_000)}`)),
    );
    const { message, stack } = attemptError(wide);
    expect(message.length).toBeLessThanOrEqual(2_001);
    expect(stack?.length).toBeLessThanOrEqual(8_001);
    const hostile = new Error('a');
    Object.defineProperties(hostile, {
      cause: {
        get() {
          throw new Error('no');
        },
      },
    });
    expect(attemptError(hostile)).toMatchObject({ name: 'Error', message: 'a' });
  });

  it('has no signature and no password, of no cause either', () => {
    const secret = new Error(`postgres://shop:hunter2@db/shop refuses ${'ab'.repeat(32)}`);
    const kept = attemptError(new Error('a', { cause: secret }));
    expect(kept.message).toBe('a: postgres://…@db/shop refuses …');
    expect(JSON.stringify([kept, attemptError(secret)])).not.toMatch(/hunter2|abab/);
  });

  it('is in the log, its stack in the order of the chain', async () => {
    const { logger, lines } = recordedLog();
    const inbox = memoryInbox();
    await store(inbox, orderEvent('evt_1'));
    const handlers = { '*': () => Promise.reject(new Error('no', { cause: new RangeError('why') })) };
    await using processor = createProcessor({ inbox, clock: new VirtualClock(), logger, handlers });
    await processor.start();
    await rest();
    expect(lines[0]?.facts['err']).toMatchObject({
      message: 'no: why',
      stack: expect.stringMatching(/^Error: no\n +at [^]*\n\[cause\]: RangeError: why\n +at /) as string,
    });
  });
});

describe('an error of another realm, such as of Jest', () => {
  const TYPE_ERROR = `new TypeError('no stock', { cause: Object.assign(new Error('down'), { code: 'EDOWN' }) })`;
  const thrown: unknown = runInNewContext(TYPE_ERROR);

  it('is kept as one of ours', () => {
    expect(thrown).not.toBeInstanceOf(Error);
    expect(attemptError(thrown)).toEqual({
      name: 'TypeError',
      message: 'no stock: down (code EDOWN)',
      stack: expect.stringMatching(/^TypeError: no stock\n +at [^]*\[cause\]: Error: down\n +at /) as string,
    });
    expect([codeOf(thrown), nameOf(thrown), messageOf(thrown)]).toEqual(['EDOWN', 'TypeError', 'no stock']);
    const coded: unknown = runInNewContext(`Object.assign(new Error('x'), { code: 'EDOWN' })`);
    expect(nameAndCode(coded)).toBe('Error EDOWN');
  });

  it('may say that no retry will help, or when', () => {
    const as = (error: Error) =>
      runInNewContext('Object.assign(new Error(message), fields)', {
        message: error.message,
        fields: { ...error, name: error.name },
      }) as unknown;
    expect(isPermanent(as(new PermanentError('no')))).toBe(true);
    expect(requestedWait(as(new RetryLaterError({ afterMs: 5 }))).afterMs).toBe(5);
  });

  it.each<[string, unknown, string]>([
    ['a text', 'no', 'string'],
    ['an object', { message: 'no' }, 'object'],
    ['null', null, 'object'],
    ['an object whose getters throw', runInNewContext(`({ get message() { throw 1 } })`), 'object'],
  ])('is not %s', (_, other, name) => {
    expect(attemptError(other)).toMatchObject({ name, stack: null });
  });
});
