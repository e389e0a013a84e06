import type { AnyInbox, Operations } from '../inbox/contract.ts';

/** An inbox for a visitor who may go away: once the signal is aborted it starts no more calls, and long ones end. */
export function abortableInbox(inbox: AnyInbox, signal: AbortSignal): AnyInbox {
  const { operations } = inbox;
  if (operations === undefined) return untilAborted(inbox, signal, {});
  const seeking: Partial<Operations> = {
    search: (filter, page) => operations.search(filter, { ...page, signal }),
    countFound: (filter, request) => operations.countFound(filter, { ...request, signal }),
    deadGroups: () => operations.deadGroups({ signal }),
    totalsIn: (spans) => operations.totalsIn(spans, { signal }),
  };
  return untilAborted(inbox, signal, { operations: untilAborted(operations, signal, seeking) });
}

/**
 * Rejects calls after the signal with its reason. It does not throw, because a caller that makes several calls at once would
 * abandon the others.
 *
 * @param own - what it has in place of the target's
 */
function untilAborted<T extends object>(target: T, signal: AbortSignal, own: Partial<T>): T {
  // A target that is frozen must not be that of the proxy.
  return new Proxy(Object.create(target) as T, {
    get(_, name) {
      const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : target, name);
      if (typeof value !== 'function') return value;
      return (...given: readonly unknown[]): unknown =>
        signal.aborted ? Promise.reject(signal.reason as Error) : Reflect.apply(value, target, given);
    },
  });
}
