import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { answer, asked, atOnce, awaited, DONE, type Steps } from '../../../src/inbox/rules/steps.ts';

it('what answers at once is run at once', () => {
  function* sum(): Steps<number> {
    yield* DONE;
    return (yield* answer(1)) + (yield* answer(2));
  }
  expect(atOnce(sum())).toBe(3);
  expect(atOnce(answer('there'))).toBe('there');
});

it('what has to be waited for is not run at once', () => {
  expect(() => atOnce(later(1))).toThrow(/should answer at once/);
});

it('the same rule runs where it has to be waited for', async () => {
  function* sum(): Steps<number> {
    return (yield* later(1)) + (yield* answer(2));
  }
  expect(await awaited(sum())).toBe(3);
});

function later(value: number): Steps<number> {
  return asked(turn().then(() => value));
}
