import type { Inbox } from '../../src/inbox/contract.ts';

/** Who is not answered in so long waits for something that the test holds back. */
const LIMIT_MS = 2_000;

/** Calls of an inbox in a thread, whose answers take a time that is no number of turns of this event loop. */
const underWay = new Set<object>();
let settled = Promise.withResolvers<void>();

/** An inbox for whose answers `rest()` waits. */
export function waitedFor(inbox: Inbox): Inbox {
  const { operations } = inbox;
  return {
    ...withEachNoted(inbox),
    ...(operations && { operations: withEachNoted(operations) }),
    [Symbol.asyncDispose]: async () => noted(inbox[Symbol.asyncDispose]()),
  };
}

/** Resolves when nothing is under way any more but what is held back. */
export async function noCallsUnderWay(): Promise<void> {
  while (underWay.size > 0) {
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      underWay.clear();
      limit.resolve();
    }, LIMIT_MS);
    await Promise.race([settled.promise, limit.promise]);
    clearTimeout(timer);
  }
}

function withEachNoted<Calls extends object>(calls: Calls): Calls {
  const entries = Object.entries(calls).map(([name, call]: [string, unknown]) => [
    name,
    typeof call === 'function'
      ? (...given: unknown[]) => noted((call as (...given: unknown[]) => unknown)(...given))
      : call,
  ]);
  return Object.fromEntries(entries) as Calls;
}

function noted<Result>(result: Result): Result {
  if (!(result instanceof Promise)) return result;
  underWay.add(result);
  const end = (): void => {
    underWay.delete(result);
    settled.resolve();
    settled = Promise.withResolvers();
  };
  result.then(end, end);
  return result;
}
