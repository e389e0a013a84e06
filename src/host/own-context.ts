import { AsyncLocalStorage } from 'node:async_hooks';

/** Runs work in the context of `AsyncLocalStorage` in which this was made, whoever calls. */
export type OwnContext = <T>(work: () => T) => T;

/** workerd refuses to be called in the context of another request; there, nothing outlives its own. */
const isBound = 'WebSocketPair' in globalThis;

/** The context of here and now, for what is done later and may be woken by anybody. */
export function ownContext(): OwnContext {
  return isBound ? (work) => work() : AsyncLocalStorage.snapshot();
}

/** A function that runs in the context of here and now, whoever calls it. */
export function boundToHere<Work extends (...given: never[]) => unknown>(work: Work): Work {
  return isBound ? work : AsyncLocalStorage.bind(work);
}
