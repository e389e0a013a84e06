import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FORGERIES,
  forged,
  isFailing,
  tamperedBody,
  tamperedSignature,
  type Fault,
  FAULT_KINDS,
  randomFaults,
  seeded,
} from '../../src/sender/faults.ts';
import { signBody, verifySignature } from '../../src/signing/signature.ts';
import { eventBody, SECRET } from './endpoint.ts';

const where = fc.double({ min: 0, max: 1, noNaN: true });

describe('tampering', () => {
  it('changes exactly one bit of a body', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), where, (body, where) => {
        const changed = tamperedBody(body, where);
        const bits = body.map((byte, at) => byte ^ (changed[at] ?? 0)).filter((difference) => difference !== 0);
        expect([...bits]).toEqual([1]);
        expect(changed).toHaveLength(body.length);
      }),
    );
  });

  it('changes exactly one digit of a signature, which stays well formed', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{64}$/), where, (signature, where) => {
        const changed = tamperedSignature(signature, where);
        expect(changed).toMatch(/^[0-9a-f]{64}$/);
        expect([...changed].filter((digit, at) => digit !== signature[at])).toHaveLength(1);
      }),
    );
  });
});

describe('forgeries', () => {
  it.each(FORGERIES)('%s: no receiver may take it', (how) => {
    const { body, signature } = forged(eventBody(), SECRET, how);
    expect(verifySignature(body, signature, SECRET)).toBe(false);
  });

  it('a changed body is still a sound event, about the same', () => {
    const { body, signature } = forged(eventBody(), SECRET, 'changed-body');
    expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({ id: 'evt_1', type: 'order.created' });
    expect(Buffer.from(body).equals(eventBody())).toBe(false);
    expect(signature).toBe(signBody(eventBody(), SECRET));
  });

  it('even a body without a digit is changed', () => {
    const { body, signature } = forged(Buffer.from('{}'), SECRET, 'changed-body');
    expect(verifySignature(body, signature, SECRET)).toBe(false);
  });
});

describe('seeded numbers', () => {
  it('depend on the seed and the names alone, and are from 0 up to 1', () => {
    fc.assert(
      fc.property(fc.nat(), fc.string(), fc.nat(), (seed, name, number) => {
        const once = seeded(seed, name, number);
        const again = seeded(seed, name, number);
        for (let n = 0; n < 5; n += 1) {
          const value = once();
          expect(value).toBe(again());
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThan(1);
        }
      }),
    );
  });

  it('are spread evenly over names that differ little', () => {
    const tenths = Array<number>(10).fill(0);
    for (let n = 0; n < 10_000; n += 1) {
      const tenth = Math.floor(seeded(1, 'evt', n)() * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    for (const count of tenths) expect(Math.abs(count - 1_000)).toBeLessThan(200);
  });
});

describe('random faults', () => {
  const ids = Array.from({ length: 300 }, (_, n) => `evt_${n}`);
  const dealt = (plan: ReturnType<typeof randomFaults>, of = ids): readonly (readonly Fault[])[][] =>
    of.map((id) => [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => plan(id, attempt)));

  it('are as many as asked for, of every kind, and the last attempt has none', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 1_800 }), (seed, count) => {
        const plans = dealt(randomFaults({ seed, count, ids }));
        expect(plans.flat(2)).toHaveLength(count);
        expect(plans.flatMap((plan) => plan.slice(6)).flat()).toEqual([]);
        if (count > 500) expect(new Set(plans.flat(2).map(({ kind }) => kind)).size).toBe(FAULT_KINDS.length);
      }),
      { numRuns: 20 },
    );
  });

  it('follow each other: an attempt that has some is only reached because the one before fails', () => {
    const plans = dealt(randomFaults({ seed: 1, count: 1_000, ids }));
    for (const plan of plans) {
      const last = plan.findLastIndex((faults) => faults.length > 0);
      for (const faults of plan.slice(0, Math.max(last, 0))) expect(faults.some(isFailing)).toBe(true);
    }
  });

  it('are the same for the same seed, whoever asks first, and others for another', () => {
    const plan = randomFaults({ seed: 7, count: 1_000, ids });
    const again = randomFaults({ seed: 7, count: 1_000, ids });
    const backwards = dealt(again, ids.toReversed()).toReversed();
    expect(dealt(plan)).toEqual(backwards);
    expect(dealt(plan)).not.toEqual(dealt(randomFaults({ seed: 8, count: 1_000, ids })));
  });

  it('are of the kinds that are wanted', () => {
    const plans = dealt(randomFaults({ seed: 3, count: 600, ids, kinds: ['lost-answer', 'duplicate'] }));
    expect(new Set(plans.flat(2).map(({ kind }) => kind))).toEqual(new Set(['lost-answer', 'duplicate']));
    expect(plans.flat(2)).toHaveLength(600);
  });

  it.each([
    ['more than fit', { count: 1_801 }, '300 events can have at most 1800 faults (6 each), not 1801.'],
    [
      'none that fails',
      { count: 1, kinds: ['late', 'burst'] as const },
      'at least one kind of fault that makes an attempt fail',
    ],
  ])('refuse %s', (_, options, message) => {
    expect(() => randomFaults({ seed: 1, ids, ...options })).toThrow(message);
  });
});
