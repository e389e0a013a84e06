import { AsyncLocalStorage } from 'node:async_hooks';

/** Runs work in the context of `AsyncLocalStorage` in which this function was created, not in its caller's. */
export type OwnContext = <T>(work: () => T) => T;

/** workerd refuses to be called in the context of another request; there, nothing outlives its own. */
const isBound = 'WebSocketPair' in globalThis;

/** Keeps the current context for later work, which any other context may start. */
export function ownContext(): OwnContext {
  return isBound ? (work) => work() : AsyncLocalStorage.snapshot();
}

/** Binds a function to the current context, so that it does not run in its caller's. */
export function boundToHere<Work extends (...given: never[]) => unknown>(work: Work): Work {
  return isBound ? work : AsyncLocalStorage.bind(work);
}
