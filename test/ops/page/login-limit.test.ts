import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { createAuthorization, loginLimit, type AuthorizationOptions } from '../../../src/page/safety/authorization.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { ADA, openedPage, signedIn, VIC } from './opened-page.ts';

function limitWithClock() {
  const clock = { ms: 5_000_000 };
  return { limit: loginLimit(() => clock.ms), clock };
}

const wrong = (): null => null;
const right = (): 'ada' => 'ada';

describe('guesses', () => {
  test('are refused for a minute after five in a row, right or wrong', () => {
    const { limit, clock } = limitWithClock();
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 5; n += 1) expect(limit.attempt('ada', wrong)).toEqual({ found: null });
      clock.ms += 100;
      for (const check of [wrong, right]) expect(limit.attempt('ada', check)).toEqual({ waitMs: 59_900 });
      clock.ms += 59_900;
    }
    expect(limit.attempt('ada', right)).toEqual({ found: 'ada' });
  });

  test('a thousand a second become five a minute', () => {
    const { limit, clock } = limitWithClock();
    let looked = 0;
    for (let n = 0; n < 600_000; n += 1, clock.ms += 1) {
      limit.attempt('ada', () => {
        looked += 1;
        return null;
      });
    }
    expect(looked).toBe(50);
  });

  test('a right password in between begins anew', () => {
    const { limit } = limitWithClock();
    for (let round = 0; round < 10; round += 1) {
      for (let n = 0; n < 4; n += 1) expect(limit.attempt('ada', wrong)).toEqual({ found: null });
      expect(limit.attempt('ada', right)).toEqual({ found: 'ada' });
    }
  });

  test('leave no more in memory than so many', () => {
    const { limit, clock } = limitWithClock();
    const fill = (from: number, count: number): number => {
      const before = heapUsed();
      for (let n = from; n < from + count; n += 1, clock.ms += 1) limit.attempt(`key ${n}`, wrong);
      return heapUsed() - before;
    };
    fill(0, 15_000);
    // Four times as many more leave no more behind than noise.
    expect(fill(15_000, 60_000)).toBeLessThan(4_000_000);
  });
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const BASIC = { basic: [ADA, VIC], bearer: [{ token: 'a-token' }] } satisfies AuthorizationOptions;

describe('the login of the page', () => {
  const asking = (options: AuthorizationOptions = BASIC) => {
    const { limit, clock } = limitWithClock();
    const { logger, lines } = recordedLog();
    const authorized = createAuthorization({ ...options, logger }, limit);
    const ask = (headers: Readonly<Record<string, string>>, source = '192.0.2.1') =>
      authorized(new Request('http://shop.example/ops', { headers }), source);
    const guess = async (source?: string, user = 'ada') => {
      for (let n = 0; n < 5; n += 1) await ask(signedIn({ user, password: `guess ${n}` }), source);
    };
    return { ask, guess, clock, lines };
  };

  test('answers tries that come at once without looking at them, and says when to come again', async () => {
    const { ask } = asking();
    const tries = Array.from({ length: 100 }, (_, n) => ask(signedIn({ user: 'ada', password: `guess ${n}` })));
    const verdicts = (await Promise.all(tries)).map((verdict) => ('refused' in verdict ? verdict.refused : 200));
    expect(verdicts.filter((status) => status === 401)).toHaveLength(5);
    expect(verdicts.filter((status) => status === 429)).toHaveLength(95);
    expect(await ask(signedIn(ADA))).toEqual({ refused: 429, retryAfterS: 60 });
  });

  test('slows tokens down as it does passwords, and apart from them', async () => {
    const { ask, guess, clock } = asking();
    await guess();
    expect(await ask({ authorization: 'Bearer a-token' })).toMatchObject({ visitor: { role: 'viewer' } });
    for (let n = 0; n < 5; n += 1) await ask({ authorization: `Bearer guess-${n}` });
    expect(await ask({ authorization: 'Bearer a-token' })).toMatchObject({ refused: 429 });
    clock.ms += 60_000;
    expect(await ask({ authorization: 'Bearer a-token' })).toMatchObject({ visitor: { role: 'viewer' } });
  });

  test('refuses one account from one address, and no other', async () => {
    const { ask, guess } = asking();
    await guess('192.0.2.1');
    expect(await ask(signedIn(ADA), '192.0.2.1')).toMatchObject({ refused: 429 });
    expect(await ask(signedIn(VIC), '192.0.2.1')).toHaveProperty('visitor');
    expect(await ask(signedIn(ADA), '192.0.2.2')).toHaveProperty('visitor');
  });

  test.for([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8::1', '2001:db8:0:0:1::', true],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['fe80::1%eth0', 'FE80::2', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ] as const)('takes %s and %s for one address: %s', async ([one, other, isOne]) => {
    const { ask, guess } = asking();
    await guess(one);
    expect('refused' in (await ask(signedIn(ADA), other))).toBe(isOne);
  });

  test('logs failures once in a while, with their source and without what was given', async () => {
    const { ask, lines } = asking();
    for (let n = 0; n < 50; n += 1) await ask(signedIn({ user: 'my secret password', password: `guess ${n}` }));
    expect(lines).toEqual([
      {
        level: 'warn',
        facts: { source: '192.0.2.1', suppressed: 0 },
        message: 'a login to the page was rejected',
      },
    ]);
    const named = asking();
    await named.ask(signedIn({ user: 'ada', password: 'guess' }));
    expect(named.lines[0]?.facts).toEqual({ source: '192.0.2.1', user: 'ada', suppressed: 0 });
    expect(JSON.stringify([lines, named.lines])).not.toMatch(/guess|secret/);
  });

  test('says nothing of those who bring no credentials', async () => {
    const { ask, lines } = asking();
    for (let n = 0; n < 20; n += 1) expect(await ask({})).toMatchObject({ refused: 401 });
    expect(await ask(signedIn(ADA))).toHaveProperty('visitor');
    expect(lines).toEqual([]);
  });
});

test('over HTTP, too many are answered 429 with Retry-After, and nobody gets a cookie', async () => {
  const { logger, lines } = recordedLog();
  const { get } = openedPage({ logger });
  expect((await get('/events')).headers.get('set-cookie')).toBeNull();

  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, n) => get('/events', signedIn({ user: 'ada', password: `guess ${n}` }))),
  );
  expect(guesses.map(({ status }) => status).filter((status) => status === 401)).toHaveLength(5);
  const refused = guesses.find(({ status }) => status === 429);
  expect(refused?.headers.get('retry-after')).toBe('60');
  expect(refused?.headers.get('www-authenticate')).toBeNull();
  expect(await refused?.text()).toContain('Try again in 60 seconds.');
  expect((await get('/events')).status).toBe(429);
  expect(lines).toHaveLength(1);
});
