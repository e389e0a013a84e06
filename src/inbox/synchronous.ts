import { TransactionError } from '../errors.ts';

/** An `await` inside a transaction would commit early, so a function that is asynchronous is refused before it runs. */
export function refuseAsyncFunction(work: unknown): void {
  if (Object.prototype.toString.call(work) === '[object AsyncFunction]') throw notSynchronous();
}

/** And one that only turns out to be, before anything is committed. */
export function refusePromise(result: unknown): void {
  const isThenable = typeof result === 'object' && result !== null && 'then' in result;
  if (!isThenable || typeof result.then !== 'function') return;
  // It has no business failing on its own as well. Other thenables, such as query builders, begin to work when asked.
  if (result instanceof Promise) result.catch(() => {});
  throw notSynchronous();
}

function notSynchronous(): TransactionError {
  return new TransactionError(
    'NOT_SYNCHRONOUS',
    'The function passed to ctx.transaction is asynchronous, so nothing was committed. Await before ' +
      'ctx.transaction, and only write inside the function.',
  );
}
