import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { memoryEngine } from '../../../src/inbox/memory/memory-engine.ts';
import { Entries } from '../../../src/inbox/memory/memory-entry.ts';
import { acceptEvent } from '../../../src/inbox/rules/accept-event.ts';
import type { Engine, Starts } from '../../../src/inbox/rules/engine.ts';
import { answer, asked, atOnce, awaited as run, DONE, type Steps } from '../../../src/inbox/rules/steps.ts';
import { incoming } from '../../helpers/incoming-event.ts';

/** An engine that has to be waited for, as one behind a network. */
function awaited(engine: Engine & Starts): Engine & Starts {
  function* later<T>(ask: () => Steps<T>): Steps<T> {
    yield* asked(turn());
    return yield* ask();
  }
  return new Proxy(engine, {
    get(target, name: keyof (Engine & Starts)) {
      if (name === 'counts' || name === 'timeSlice') return target[name];
      const statement = target[name] as (...parameters: unknown[]) => Steps<unknown>;
      return (...parameters: unknown[]) => later(() => statement(...parameters));
    },
  });
}

it('what answers at once is run at once', () => {
  function* sum(): Steps<number> {
    yield* DONE;
    return (yield* answer(1)) + (yield* answer(2));
  }
  expect(atOnce(sum())).toBe(3);
  expect(atOnce(answer('there'))).toBe('there');
});

it('an engine that has to be waited for is not run at once', () => {
  const engine = awaited(memoryEngine(new Entries()).engine);
  expect(() => atOnce(acceptEvent(engine, incoming()))).toThrow(/should answer at once/);
});

it('the same rules run on an engine that has to be waited for', async () => {
  const engine = awaited(memoryEngine(new Entries()).engine);
  expect(await run(acceptEvent(engine, incoming()))).toMatchObject({ result: 'stored' });
  expect(await run(acceptEvent(engine, incoming({ body: 'other' })))).toMatchObject({ conflict: true });
  await run(acceptEvent(engine, incoming({ id: 'evt_2' })));
});
