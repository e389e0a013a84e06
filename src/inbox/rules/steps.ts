/**
 * A rule that needs several statements of an engine: it asks for one, is told its answer, and goes on. The rule does not
 * know how it is run. SQLite and memory answer at once, so that all of it happens inside one synchronous transaction; an
 * engine behind a network yields what has to be awaited.
 */
export type Steps<T> = Iterable<unknown, T, unknown>;

class Answer<T> implements Iterable<unknown, T, unknown>, IteratorReturnResult<T> {
  readonly done = true;
  readonly value: T;

  constructor(value: T) {
    this.value = value;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): this {
    return this;
  }
}

/** What an engine that answers at once gives back. One small object, because each event needs several. */
export function answer<T>(value: T): Steps<T> {
  return new Answer(value);
}

/** The answer of a statement that only writes. */
export const DONE: Steps<void> = answer(undefined);

/** What an engine gives back that has to be waited for. */
export function* asked<T>(answer: Promise<T>): Steps<T> {
  return (yield answer) as T; // whoever runs the rule gives back what the promise resolves with
}

/** Takes the steps of a rule one after the other, waiting for each. */
export async function awaited<T>(steps: Steps<T>): Promise<T> {
  const running = steps[Symbol.iterator]();
  for (let given: unknown; ;) {
    const step = running.next(given);
    if (step.done === true) return step.value;
    given = await step.value;
  }
}

/** Takes the steps of a rule whose engine answers at once. */
export function atOnce<T>(steps: Steps<T>): T {
  const { done, value } = steps[Symbol.iterator]().next();
  if (done !== true) throw new Error('a rule has to wait, but its engine should answer at once');
  return value;
}
