import { describe, expect, it } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import { UnconfirmedClaims } from '../../src/inbox/unconfirmed-claims.ts';
import { EVERYTHING } from '../../src/inbox/work.ts';

const REQUEST = { ...EVERYTHING, now: 0, leaseMs: 1_000, ordered: true };
const open = () => new UnconfirmedClaims({ bits: 48 });
const lost = () => Promise.reject(new Error('lost'));

function ask(claims: UnconfirmedClaims, answer: () => Promise<unknown> = async () => {}, mayBeDone?: () => boolean) {
  let asked: { number: number; lostClaims: readonly number[] } = { number: 0, lostClaims: [] };
  const claiming = claims.claim(
    REQUEST,
    ({ number, lostClaims }) => {
      asked = { number, lostClaims };
      return answer();
    },
    mayBeDone,
  );
  return claiming.then(
    () => asked,
    () => asked,
  );
}

describe('a claim', () => {
  it('has a number of its own, and names those that were lost, until it is answered', async () => {
    const claims = open();
    const first = await ask(claims, lost);
    expect(first.lostClaims).toEqual([]);
    expect(await ask(claims)).toMatchObject({ lostClaims: [first.number] });
    const later = await ask(claims);
    expect(later.lostClaims).toEqual([]);
    expect(later.number).not.toBe(first.number);
  });

  it('that is lost again and again adds no more numbers', async () => {
    const claims = open();
    const { number } = await ask(claims, lost);
    for (let n = 0; n < 5; n += 1) expect(await ask(claims, lost)).toEqual({ number, lostClaims: [number] });
  });

  it('shares no number with one that is asked at the same time', async () => {
    const claims = open();
    const before = await ask(claims, lost);
    const [one, other] = await Promise.all([ask(claims, lost), ask(claims, lost)]);
    expect([one.lostClaims, other.lostClaims]).toEqual([[before.number], []]);
    expect(one.number).not.toBe(other.number);
    expect(new Set((await ask(claims)).lostClaims)).toEqual(new Set([one.number, other.number]));
  });

  it('that cannot be committed is not lost, and those that it was to give back still are', async () => {
    const claims = open();
    await ask(claims, lost, () => false);
    const first = await ask(claims, lost);
    expect(first.lostClaims).toEqual([]);
    await ask(claims, lost, () => false);
    expect((await ask(claims)).lostClaims).toEqual([first.number]);
  });
});

describe('a start', () => {
  const start = (claims: UnconfirmedClaims, answer: () => Promise<unknown>) => {
    let number: number | undefined;
    const stored = claims.start(REQUEST, (given) => {
      ({ number } = given ?? {});
      return answer();
    });
    return stored.then(
      () => number,
      () => number,
    );
  };

  it('that is lost is named by the next claim, and until then nothing is stored as running', async () => {
    const claims = open();
    const number = await start(claims, lost);
    expect(number).toBeGreaterThan(0);
    expect(await start(claims, async () => {})).toBeUndefined();
    expect(await ask(claims)).toMatchObject({ lostClaims: [number] });
    expect(await start(claims, async () => {})).toBeGreaterThan(0);
  });

  it('that was refused before it began is not lost', async () => {
    const claims = open();
    await start(claims, () => Promise.reject(new InboxUnavailableError('OVERLOADED', 'too many')));
    expect((await ask(claims)).lostClaims).toEqual([]);
  });
});
