// @module-tag long
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { signBody } from '../../src/signing/signature.ts';
import { check, findingOf, probesWith, SECRET } from './checking.ts';
import { scriptedEndpoint } from './scripted-endpoint.ts';

describe('time', () => {
  it('finds an answer that takes more than half of the deadline', async () => {
    const slow = scriptedEndpoint(async ({ right }) => {
      await delay(1_100);
      return right;
    });

    expect(await check(slow, { only: ['in-time'], deadlineMs: 2_000 })).toMatchObject({
      probes: [{ verdict: 'pass' }, { name: 'in-time', verdict: 'warning' }],
    });
  });

  it('finds the one type that is answered late', async () => {
    const slow = scriptedEndpoint(async ({ right, body }) => {
      if (body.includes('cart.abandoned')) await delay(600);
      return right;
    });

    const report = await check(slow, { only: ['every-type', 'in-time'], deadlineMs: 500 });

    expect(probesWith(report, 'fault')).toEqual(['in-time']);
    expect(findingOf(report, 'in-time').sent).toContain('cart.abandoned');
  });

  /** Answers one request after the other. */
  function oneAtATime(takesMs: number): Parameters<typeof scriptedEndpoint>[0] {
    let last: Promise<unknown> = Promise.resolve();
    return async ({ right }) => {
      last = last.then(() => delay(takesMs));
      await last;
      return right;
    };
  }

  it('finds that many at once are answered late, where one alone is not', async () => {
    const report = await check(scriptedEndpoint(oneAtATime(25)), { only: ['burst', 'in-time'], deadlineMs: 1_000 });

    expect(probesWith(report, 'fault')).toEqual(['burst']);
    expect(findingOf(report, 'burst').mend).toContain('Store many events in one transaction');
  });

  it.each([
    [429, 'warning'],
    [503, 'warning'],
    [500, 'fault'],
    ['cut', 'fault'],
  ] as const)('finds that some of many at once are answered %s: %s', async (reply, verdict) => {
    let underWay = 0;
    const report = await check(
      scriptedEndpoint(async ({ right }) => {
        if (underWay >= 10) return reply;
        underWay += 1;
        await delay(50);
        underWay -= 1;
        return right;
      }),
      { only: ['burst'] },
    );

    expect(report.probes.at(-1)).toMatchObject({ name: 'burst', verdict });
  });

  it('finds that one of many at once fails where others are told to come later', async () => {
    let deliveries = 0;
    const report = await check(
      scriptedEndpoint(({ right }) => {
        deliveries += 1;
        if (deliveries === 1) return right;
        return deliveries < 40 ? 429 : 500;
      }),
      { only: ['burst'] },
    );

    expect(probesWith(report, 'fault')).toEqual(['burst']);
  });
});

describe('connections', () => {
  it('finds that others wait for one slow body', async () => {
    const right = scriptedEndpoint();
    let last: Promise<unknown> = Promise.resolve();
    const report = await check(
      (request, response) => {
        const served = last;
        last = new Promise((resolve) => response.once('close', resolve));
        void served.then(() => right(request, response));
      },
      { only: ['slow-body'], deadlineMs: 500 },
    );

    expect(probesWith(report, 'fault')).toEqual(['slow-body']);
    expect(findingOf(report, 'slow-body').why).toContain('delays the responses to all deliveries');
  });

  it('finds that only the first piece of a body is read', async () => {
    const right = scriptedEndpoint();
    const report = await check(
      (request, response) => {
        if (request.method !== 'POST') return right(request, response);
        request.once('data', (piece: Buffer) => {
          const isWhole = request.headers['x-signature'] === signBody(piece, SECRET);
          response.writeHead(isWhole ? 200 : 401).end();
        });
      },
      { only: ['slow-body'] },
    );

    expect(findingOf(report, 'slow-body').mend).toContain('the first chunk');
  });

  it('finds that a connection ends between two deliveries without a word', async () => {
    const right = scriptedEndpoint();
    const used = new WeakSet<object>();
    const report = await check(
      (request, response) => {
        if (used.has(request.socket)) return void request.socket.destroy();
        used.add(request.socket);
        right(request, response);
      },
      { effects: null, only: ['keep-alive'] },
    );

    expect(probesWith(report, 'fault')).toEqual(['keep-alive']);
  });

  it('has nothing against an endpoint that closes each connection and says so', async () => {
    const report = await check(
      scriptedEndpoint(({ right }) => ({ status: right, headers: { Connection: 'close' } })),
      { only: ['keep-alive'] },
    );

    expect(report.probes.at(-1)).toMatchObject({
      verdict: 'pass',
      note: 'the endpoint closes the connection after each response',
    });
  });

  it('finds a body that is refused as something else than too large', async () => {
    const report = await check(
      scriptedEndpoint(({ right, body }) => (body.byteLength > 100_000 ? 400 : right)),
      { only: ['one-mebibyte', 'two-mebibytes'] },
    );

    expect(probesWith(report, 'warning')).toEqual(['one-mebibyte', 'two-mebibytes']);
  });
});
