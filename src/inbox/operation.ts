/** An operation that waits for each answer of its engine, so that every engine can run the same code. */
export type Operation<T> = Generator<unknown, T, unknown>;

export function* wait<T>(answer: T | Promise<T>): Operation<T> {
  return (yield answer) as T; // both functions below resume with the answer
}

/** On an engine that answers immediately. */
export function runNow<T>(operation: Operation<T>): T {
  let step = operation.next();
  while (step.done !== true) step = operation.next(step.value);
  return step.value;
}

export async function runAsync<T>(operation: Operation<T>): Promise<T> {
  let step = operation.next();
  while (step.done !== true) step = operation.next(await step.value);
  return step.value;
}
