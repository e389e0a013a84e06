import { delay, performance, turn } from '../host/real-timers.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Lease } from '../inbox/work.ts';

/** An inbox that knows whether anything is under way in it. */
export interface WatchedInbox<Database> {
  readonly inbox: Inbox<Database>;
  /** Resolves when no call is under way and no handler runs, or none that was not given its time. */
  readonly rest: () => Promise<void>;
  readonly isRunning: () => boolean;
}

/** Turns of the event loop before waiting costs no processor time any more. */
const BUSY_TURNS = 20;

/** @param patienceMs - how long a handler is waited for, in real time */
export function watchedInbox<Database>(inner: Inbox<Database>, patienceMs: number): WatchedInbox<Database> {
  const running = new Map<string, number>();
  let underWay = 0;

  const begin = (lease: Lease): void => void running.set(keyOf(lease), performance.now() + patienceMs);
  const end = (lease: Lease): void => void running.delete(keyOf(lease));

  async function watch<T>(call: Promise<T>, done: (result: T) => void = () => {}): Promise<T> {
    underWay += 1;
    try {
      const result = await call;
      done(result);
      return result;
    } finally {
      underWay -= 1;
    }
  }

  const isBusy = (): boolean => {
    const now = performance.now();
    return underWay > 0 || [...running.values()].some((until) => until > now);
  };

  const inbox: Inbox<Database> = {
    ...(inner.operations !== undefined && { operations: inner.operations }),
    accept: (event, deadline, start) =>
      watch(inner.accept(event, deadline, start), ({ started }) => {
        if (started !== undefined) begin(started);
      }),
    get: (key) => inner.get(key),
    list: (page) => inner.list(page),
    claim: (request, limit, tell) =>
      watch(inner.claim(request, limit, tell), (claimed) => {
        for (const { lease } of claimed) begin(lease);
      }),
    claimOne: (key, request, tell) =>
      watch(inner.claimOne(key, request, tell), (claimed) => {
        if (typeof claimed === 'object') begin(claimed.lease);
      }),
    renew: (leases, ...more) =>
      watch(inner.renew(leases, ...more), (held) => {
        const kept = new Set(held.map(keyOf));
        for (const lease of leases) if (!kept.has(keyOf(lease))) end(lease);
      }),
    settle: (lease, settlement, now) => watch(inner.settle(lease, settlement, now), () => end(lease)),
    transaction: (lease, work, attempt) => watch(inner.transaction(lease, work, attempt)),
    nextDue: (scope) => watch(inner.nextDue(scope)),
    announce: (scope, now, ignoreBefore, processor) => watch(inner.announce(scope, now, ignoreBefore, processor)),
    leave: (processor) => watch(inner.leave(processor)),
    processors: (now) => watch(inner.processors(now)),
    unhandled: (now, handledSince) => watch(inner.unhandled(now, handledSince)),
    ignoredSince: (scope, since, now) => watch(inner.ignoredSince(scope, since, now)),
    onPending: (listener) => inner.onPending(listener),
    attempts: (key) => inner.attempts(key),
    rerun: (key, content, now, readFrom) => watch(inner.rerun(key, content, now, readFrom)),
    prune: (endpoints, processedBefore, limit) => watch(inner.prune(endpoints, processedBefore, limit)),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };

  return {
    inbox,
    isRunning: () => running.size > 0,
    async rest() {
      await turn();
      for (let turns = 1; isBusy(); turns += 1) await (turns < BUSY_TURNS ? turn() : delay(1));
    },
  };
}

function keyOf({ seq, fence }: Lease): string {
  return `${seq}:${fence}`;
}
