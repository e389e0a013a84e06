import { AsyncLocalStorage } from 'node:async_hooks';
import type { SqliteDatabase } from './opening/database.ts';

/** The function that is running, and in whatever it has left running behind it: whether it has ended. */
const functions = new AsyncLocalStorage<{ isOver: boolean }>();

/** One for each connection, so that what an application keeps by it, or of it, serves for the next transaction too. */
const lent = new WeakMap<object, object>();

/**
 * Runs an application's function on a connection that refuses later calls of the function. An asynchronous function
 * continues after its transaction was rolled back, and its later writes would be committed by themselves.
 */
export function runOn<T>(database: SqliteDatabase, work: (database: SqliteDatabase) => T): T {
  const run = { isOver: false };
  try {
    return functions.run(run, () => work(guarded(database)));
  } finally {
    run.isOver = true;
  }
}

/** A connection, or a statement of it, each of whose calls asks whether it may be made. */
function guarded<T extends object>(target: T): T {
  const known = lent.get(target);
  if (known !== undefined) return known as T; // it was made for this one
  // A shadow, as better-sqlite3 has properties that a proxy of theirs could not show otherwise.
  const guard: T = new Proxy(Object.create(target) as T, {
    set: (_, name, value) => Reflect.set(target, name, value),
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'constructor') {
        return (typeof value === 'object' && value !== null && lent.get(value)) || value;
      }
      return (...given: unknown[]): unknown => {
        if (functions.getStore()?.isOver === true) throw new Error(OVER);
        // The connection that better-sqlite3 notes down for its transactions is this one.
        const answer: unknown = Reflect.apply(value, name === 'transaction' ? guard : target, given);
        if (answer === target) return guard;
        return name === 'prepare' ? guarded(answer as object) : answer;
      };
    },
  });
  lent.set(target, guard);
  return guard;
}

const OVER =
  'This call came after the function in ctx.transaction had ended, so nothing was written. The function must be ' +
  'synchronous: await before ctx.transaction, and only write inside the function.';
