import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  createLoginBrakes,
  type LoginBrakes,
  createAuthorization,
  type AuthorizationOptions,
} from '../../../src/page/safety/authorization.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { ADA, openedPage, signedIn, VIC } from './opened-page.ts';

/** A clock that stands still until it is moved, in ms. */
function brakesWithClock(): { readonly brakes: LoginBrakes; readonly clock: { ms: number } } {
  const clock = { ms: 5_000_000 };
  return { brakes: createLoginBrakes(() => clock.ms), clock };
}

/** How many of the tries of so many seconds, a thousand each, had their password looked at. */
function lookedAt(
  brakes: LoginBrakes,
  clock: { ms: number },
  seconds: number,
  login: (n: number) => { readonly source: string; readonly account: string; readonly browser?: string },
): number {
  let looked = 0;
  for (let n = 0; n < seconds * 1_000; n += 1) {
    brakes.attempt({ browser: null, ...login(n) }, () => {
      looked += 1;
      return null;
    });
    clock.ms += 1;
  }
  return looked;
}

const here = { source: '192.0.2.1', account: 'ada', browser: null };
const wrong = (): null => null;
const right = (): 'ada' => 'ada';

describe('guesses', () => {
  test('from one source at one account are looked at less and less often', () => {
    const { brakes, clock } = brakesWithClock();
    const waits: unknown[] = [];
    for (let n = 0; n < 12; n += 1) {
      expect(brakes.attempt(here, wrong)).toEqual({ found: null });
      const tried = brakes.attempt(here, wrong);
      const waitMs = 'waitMs' in tried ? tried.waitMs : 0;
      waits.push(waitMs);
      clock.ms += waitMs;
    }
    // The second try of the first round was a failure too.
    expect(waits).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60].map((s) => s * 1_000));
  });

  test('a thousand a second become some tens an hour, whatever account they are at', () => {
    for (const account of [() => 'ada', (n: number) => `name ${n}`]) {
      const { brakes, clock } = brakesWithClock();
      const looked = lookedAt(brakes, clock, 600, (n) => ({ source: '192.0.2.1', account: account(n) }));
      expect(looked).toBeLessThan(20);
      expect(looked).toBeGreaterThan(10);
    }
  });

  test('from many sources at one account are slowed down by each source and by the account', () => {
    const { brakes, clock } = brakesWithClock();
    const looked = lookedAt(brakes, clock, 600, (n) => ({ source: `198.51.100.${n % 50}`, account: 'ada' }));
    // Fifty sources, none of which has more tries than one alone, and most fewer.
    expect(looked).toBeLessThan(50 * 16);
    expect(looked / (600 * 1_000)).toBeLessThan(0.002);
  });

  test('that come at once do not pass one another: what is under way counts', () => {
    const { brakes } = brakesWithClock();
    let looked = 0;
    const atOnce = (depth: number): null => {
      looked += 1;
      if (depth > 0) brakes.attempt(here, () => atOnce(depth - 1));
      return null;
    };
    brakes.attempt(here, () => atOnce(100));
    expect(looked).toBe(3);
  });

  test('are right in vain while they are too early: nobody hears that', () => {
    const { brakes, clock } = brakesWithClock();
    for (let n = 0; n < 6; n += 1) {
      brakes.attempt(here, wrong);
      clock.ms += n < 5 ? 60_000 : 0;
    }
    expect(brakes.attempt(here, right)).toHaveProperty('waitMs');
  });

  test.for([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8::1', '2001:db8:0:0:1::', true],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['fe80::1%eth0', 'FE80::2', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['192.0.2.1', '192.0.2.2', false],
  ] as const)('from %s and %s come from one source: %s', ([one, other, isOne]) => {
    const { brakes } = brakesWithClock();
    for (let n = 0; n < 3; n += 1) brakes.attempt({ ...here, source: one, account: `name ${n}` }, wrong);
    const tried = brakes.attempt({ ...here, source: other, account: 'another' }, wrong);
    expect('waitMs' in tried).toBe(isOne);
  });
});

describe('whoever knows the password', () => {
  test('gets in after a wrong one or two at once, and the next mistake costs nothing again', () => {
    const { brakes } = brakesWithClock();
    for (let round = 0; round < 10; round += 1) {
      for (const check of [wrong, wrong]) expect(brakes.attempt(here, check)).toEqual({ found: null });
      // Two failures are free, so is the third try.
      expect(brakes.attempt(here, right)).toEqual({ found: 'ada' });
    }
  });

  test('gets in within ten seconds from a place of their own, while thousands of sources try their name', () => {
    const { brakes, clock } = brakesWithClock();
    const attack = (seconds: number): number =>
      lookedAt(brakes, clock, seconds, (n) => ({ source: `10.0.${n % 20}.${n % 250}`, account: 'ada' }));
    attack(60);
    const first = brakes.attempt(here, right);
    expect(first).toEqual({ waitMs: expect.any(Number) as number });
    expect('waitMs' in first && first.waitMs).toBeLessThanOrEqual(10_000);
    attack(11);
    expect(brakes.attempt(here, right)).toEqual({ found: 'ada' });
    // And stays in, although the others go on.
    for (let n = 0; n < 5; n += 1) {
      attack(5);
      expect(brakes.attempt(here, right)).toEqual({ found: 'ada' });
    }
  });

  test('goes on in a browser that is known, while somebody guesses from the very same address', () => {
    const { brakes, clock } = brakesWithClock();
    lookedAt(brakes, clock, 60, () => ({ source: here.source, account: 'ada' }));
    expect(brakes.attempt(here, right)).toHaveProperty('waitMs');
    expect(brakes.attempt({ ...here, browser: 'known' }, right)).toEqual({ found: 'ada' });
  });

  test('has no advantage for guessing: a known browser is slowed down as others are', () => {
    const { brakes, clock } = brakesWithClock();
    const looked = lookedAt(brakes, clock, 600, () => ({ source: here.source, account: 'ada', browser: 'known' }));
    expect(looked).toBeLessThan(20);
  });

  test('does not free a source for guesses at others by logging in in between', () => {
    const { brakes, clock } = brakesWithClock();
    let looked = 0;
    for (let n = 0; n < 600; n += 1) {
      brakes.attempt({ ...here, account: 'vic' }, right);
      brakes.attempt(here, () => {
        looked += 1;
        return null;
      });
      clock.ms += 1_000;
    }
    expect(looked).toBeLessThan(20);
  });

  test('waits no longer than a minute when it is over', () => {
    const { brakes, clock } = brakesWithClock();
    lookedAt(brakes, clock, 1_000, () => ({ source: here.source, account: 'ada' }));
    clock.ms += 60_000;
    expect(brakes.attempt(here, right)).toEqual({ found: 'ada' });
  });
});

describe('memory', () => {
  test('does not grow with the sources and the names that an attacker thinks of', () => {
    const { brakes, clock } = brakesWithClock();
    const fill = (from: number, count: number): number => {
      const before = heapUsed();
      for (let n = from; n < from + count; n += 1) {
        brakes.attempt({ source: `source ${n}`, account: `account ${n}`, browser: `browser ${n % 2}` }, wrong);
        brakes.attempt({ source: `source ${n}`, account: `account ${n}`, browser: null }, wrong);
        clock.ms += 1;
      }
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
    const { brakes, clock } = brakesWithClock();
    const { logger, lines } = recordedLog();
    const tokenBrakes = createLoginBrakes(() => clock.ms);
    const authorized = createAuthorization({ ...options, logger }, brakes, tokenBrakes);
    const ask = (headers: Readonly<Record<string, string>>, source = '192.0.2.1') =>
      authorized(new Request('http://shop.example/ops', { headers }), source);
    return { ask, clock, lines };
  };

  test('answers tries that come at once without looking at them, and says when to come again', async () => {
    const { ask } = asking();
    const tries = Array.from({ length: 100 }, (_, n) => ask(signedIn({ user: 'ada', password: `guess ${n}` })));
    const verdicts = (await Promise.all(tries)).map((verdict) => ('refused' in verdict ? verdict.refused : 200));
    expect(verdicts.filter((status) => status === 401)).toHaveLength(3);
    expect(verdicts.filter((status) => status === 429)).toHaveLength(97);
    expect(await ask(signedIn(ADA))).toEqual({ refused: 429, retryAfterS: 1 });
  });

  test('slows tokens down as it does passwords', async () => {
    const { ask, clock } = asking();
    for (let n = 0; n < 3; n += 1) await ask({ authorization: `Bearer guess-${n}` });
    expect(await ask({ authorization: 'Bearer a-token' })).toMatchObject({ refused: 429 });
    clock.ms += 1_000;
    expect(await ask({ authorization: 'Bearer a-token' })).toMatchObject({ visitor: { role: 'viewer' } });
  });

  test('lets a token in although somebody guesses passwords from the same address, such as a proxy', async () => {
    const { ask } = asking();
    for (let n = 0; n < 4; n += 1) await ask(signedIn({ user: `nobody ${n}`, password: 'guess' }));
    expect(await ask(signedIn(ADA))).toMatchObject({ refused: 429 });
    expect(await ask({ authorization: 'Bearer a-token' })).toMatchObject({ visitor: { role: 'viewer' } });
  });

  test('knows a browser again, for its own account only, and not by a cookie that somebody made', async () => {
    const { ask } = asking();
    const first = await ask(signedIn(ADA), '192.0.2.9');
    const known = 'known' in first ? first.known : '';
    for (let n = 0; n < 5; n += 1) await ask(signedIn({ user: 'ada', password: `guess ${n}` }));
    const withCookie = (cookie: string, who: typeof ADA | typeof VIC = ADA) => ask({ ...signedIn(who), cookie });
    expect(await withCookie(`other=1; hookbox-known=${known}`)).toEqual({ visitor: { role: 'operator', name: 'ada' } });
    expect(await withCookie(`hookbox-known=${known}`, VIC)).toMatchObject({ refused: 429 });
    expect(await withCookie(`hookbox-known=${'A'.repeat(24)}.${'A'.repeat(43)}`)).toMatchObject({ refused: 429 });
    expect(await withCookie('hookbox-known=')).toMatchObject({ refused: 429 });
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

test('over HTTP, too many are answered 429 with Retry-After, and a browser that was let in keeps a cookie', async () => {
  const { logger, lines } = recordedLog();
  const { get } = openedPage({ logger });
  const letIn = await get('/events');
  const cookie = letIn.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^hookbox-known=[\w-]+\.[\w-]+; Max-Age=2592000; Path=\/ops; HttpOnly; SameSite=Lax$/);

  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, n) => get('/events', signedIn({ user: 'ada', password: `guess ${n}` }))),
  );
  expect(guesses.map(({ status }) => status).filter((status) => status === 401)).toHaveLength(3);
  const refused = guesses.find(({ status }) => status === 429);
  expect(refused?.headers.get('retry-after')).toBe('1');
  expect(refused?.headers.get('www-authenticate')).toBeNull();
  expect(await refused?.text()).toContain('Try again in 1 second.');
  expect((await get('/events')).status).toBe(429);
  const known = await get('/events', { ...signedIn(ADA), cookie: cookie.split(';', 1)[0] ?? '' });
  expect([known.status, known.headers.get('set-cookie')]).toEqual([200, null]);
  expect(lines).toHaveLength(1);
});
