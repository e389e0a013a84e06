import type { Steps } from './steps.ts';
import type { Standing } from './why-waiting.ts';

/**
 * An engine that is asked the same only once: why each of many events waits is a question of one moment, and what holds for
 * their types and their entities holds for all of them.
 */
export function askedOnce(engine: Standing): Standing {
  const answers = new Map<string, unknown>();

  function* once<T>(question: readonly unknown[], ask: () => Steps<T>): Generator<unknown, T, unknown> {
    const key = JSON.stringify(question);
    if (answers.has(key)) return answers.get(key) as T; // what was answered to this question
    const value = yield* ask();
    answers.set(key, value);
    return value;
  }

  return {
    ...engine,
    pauses: () => once(['pauses'], () => engine.pauses()),
    takenTypes: (endpoint, since) => once(['taken', endpoint, since], () => engine.takenTypes(endpoint, since)),
    lastSeen: (endpoint, type) => once(['seen', endpoint, type], () => engine.lastSeen(endpoint, type)),
    isSuspectRunning: () => once(['suspect'], () => engine.isSuspectRunning()),
    front: (queue, since) => once(['front', queue.endpoint, queue.entity, since], () => engine.front(queue, since)),
    running: (queue) => once(['running', queue.endpoint, queue.entity], () => engine.running(queue)),
    typesBehind: (queue, after, limit) =>
      once(['behind', queue.endpoint, queue.entity, after, limit], () => engine.typesBehind(queue, after, limit)),
  };
}
