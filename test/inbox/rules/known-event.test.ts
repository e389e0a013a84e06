import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolve, type KnownEvent, type Resolution } from '../../../src/inbox/rules/known-event.ts';
import { eventStates } from '../../../src/inbox/state.ts';

const valid: KnownEvent = { state: 'pending', invalid: false, verified: true };
const invalid: KnownEvent = { state: 'dead', invalid: true, verified: true };
const signed = { valid: true, verified: true, sameBytes: false };

describe('the same bytes', () => {
  it.each(eventStates)('change nothing in an event that is %s', (state) => {
    expect(resolve({ ...valid, state }, { ...signed, sameBytes: true })).toBe('same');
  });

  it.each(eventStates)('with a signature make an unverified event verified that is %s', (state) => {
    expect(resolve({ ...valid, state, verified: false }, { ...signed, sameBytes: true })).toBe('verify');
  });

  it('that are valid by now replace an invalid event, but not for an unverified delivery', () => {
    expect(resolve(invalid, { ...signed, sameBytes: true })).toBe('replace');
    expect(resolve(invalid, { valid: true, verified: false, sameBytes: true })).toBe('same');
  });
});

describe('other bytes', () => {
  it.each(eventStates)('are a conflict with a verified event that is %s', (state) => {
    expect(resolve({ ...valid, state }, signed)).toBe('conflict');
    expect(resolve({ ...valid, state }, { ...signed, verified: false })).toBe('conflict');
  });

  it.each<[KnownEvent['state'], Resolution]>([
    ['pending', 'replace'],
    ['dead', 'replace'],
    ['ignored', 'replace'],
    ['discarded', 'replace'],
    // Its effects have happened or are happening: to replace it would say they came from another body.
    ['processing', 'conflict'],
    ['processed', 'conflict'],
  ])('that are verified meet an unverified event that is %s: %s', (state, resolution) => {
    expect(resolve({ ...valid, state, verified: false }, signed)).toBe(resolution);
  });

  it('that are valid replace an invalid event', () => {
    expect(resolve(invalid, signed)).toBe('replace');
    expect(resolve({ ...invalid, verified: false }, { ...signed, verified: false })).toBe('replace');
  });

  it('that are unverified never replace a verified event, not even an invalid one', () => {
    expect(resolve(invalid, { ...signed, verified: false })).toBe('conflict');
  });

  it('that are invalid too are a conflict with an invalid event, unless they gain trust', () => {
    expect(resolve(invalid, { ...signed, valid: false })).toBe('conflict');
    expect(resolve({ ...invalid, verified: false }, { ...signed, valid: false })).toBe('replace');
  });
});

describe('what was erased stays away:', () => {
  it('a body that would take its place is a conflict, or the same that was erased', () => {
    expect(resolve({ ...invalid, erased: true }, signed)).toBe('conflict');
    expect(resolve({ ...invalid, erased: true }, { ...signed, sameBytes: true })).toBe('same');
    expect(resolve({ ...valid, verified: false, erased: true }, signed)).toBe('conflict');
  });

  it('anything else is decided as ever', () => {
    const flag = fc.boolean();
    const known = fc.record({ state: fc.constantFrom(...eventStates), invalid: flag, verified: flag });
    const arrived = fc.record({ valid: flag, verified: flag, sameBytes: flag });
    fc.assert(
      fc.property(known, arrived, (known, arrived) => {
        const usual = resolve(known, arrived);
        const expected = usual !== 'replace' ? usual : arrived.sameBytes ? 'same' : 'conflict';
        expect(resolve({ ...known, erased: true }, arrived)).toBe(expected);
      }),
    );
  });
});

it('nothing unverified ever takes the place of what was verified', () => {
  const flag = fc.boolean();
  const known = fc.record({ state: fc.constantFrom(...eventStates), invalid: flag, verified: fc.constant(true) });
  const arrived = fc.record({ valid: flag, verified: fc.constant(false), sameBytes: flag });
  fc.assert(fc.property(known, arrived, (known, arrived) => resolve(known, arrived) !== 'replace'));
});
