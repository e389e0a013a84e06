import type { AnyInbox } from '../inbox/contract.ts';
import type { Operations } from '../inbox/operator/operations.ts';

/** An inbox for somebody who may go away: once the signal is aborted nothing more is asked of it, and what takes long ends. */
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
 * What is asked for after the signal is rejected with its reason. Nothing is thrown, as whoever asks for several things at once
 * would leave the others behind.
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
