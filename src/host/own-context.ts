import { AsyncLocalStorage } from 'node:async_hooks';

export type OwnContext = <T>(work: () => T) => T;

/** workerd throws in the context of another request. */
const isBound = 'WebSocketPair' in globalThis;

export function ownContext(): OwnContext {
  return isBound ? (work) => work() : AsyncLocalStorage.snapshot();
}

export function boundToHere<Work extends (...given: never[]) => unknown>(work: Work): Work {
  return isBound ? work : AsyncLocalStorage.bind(work);
}
