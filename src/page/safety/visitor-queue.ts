import type { MiddlewareHandler } from 'hono';
import type { Frame, PageEnv } from '../frame.tsx';

/** How many requests are answered at a time, and how many wait for that. */
export interface QueueBounds {
  readonly atOnce: number;
  readonly atOnceEach: number;
  readonly waiting: number;
  readonly waitingEach: number;
}

/**
 * Two of a visitor, so that a slow search leaves room for the overview, and four of all: they share a thread, or the pool of the
 * deliveries. A browser asks a host for six things at a time.
 */
const BOUNDS: QueueBounds = { atOnce: 4, atOnceEach: 2, waiting: 64, waitingEach: 16 };
/** Some of the waiting requests have their answers by then. */
const RETRY_AFTER_S = 2;

/** The visitors whose requests run, and those whose requests wait. */
export interface VisitorQueue {
  /**
   * Resolves when it is the visitor's turn, with what ends the turn; or at once with `full`. Turns are given in the order of
   * arrival, past those who have as many as they may.
   *
   * @throws the signal's reason, because a visitor who has gone leaves the queue at once
   */
  enter(visitor: string, signal: AbortSignal): Promise<'full' | (() => void)>;
}

interface Waiting {
  readonly visitor: string;
  readonly begin: () => void;
}

export function visitorQueue({ atOnce, atOnceEach, waiting, waitingEach }: QueueBounds = BOUNDS): VisitorQueue {
  /** how many requests of each are being answered */
  const under = new Map<string, number>();
  const queue = new Set<Waiting>();
  let all = 0;

  const of = (visitor: string): number => under.get(visitor) ?? 0;
  const mayBegin = (visitor: string): boolean => all < atOnce && of(visitor) < atOnceEach;

  function begin(visitor: string): () => void {
    all += 1;
    under.set(visitor, of(visitor) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      all -= 1;
      const left = of(visitor) - 1;
      if (left === 0) under.delete(visitor);
      else under.set(visitor, left);
      [...queue].find((one) => mayBegin(one.visitor))?.begin();
    };
  }

  return {
    async enter(visitor, signal) {
      signal.throwIfAborted();
      if (mayBegin(visitor)) return begin(visitor);
      const own = [...queue].filter((one) => one.visitor === visitor);
      if (queue.size >= waiting || own.length >= waitingEach) return 'full';
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          queue.delete(one);
          reject(signal.reason as Error);
        };
        const one: Waiting = {
          visitor,
          begin: () => {
            queue.delete(one);
            signal.removeEventListener('abort', leave);
            resolve(begin(visitor));
          },
        };
        queue.add(one);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
  };
}

/** Makes requests wait for their turn, so that no visitor fills the process that also receives. */
export function inTurn(frame: Frame, queue: VisitorQueue = visitorQueue()): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    const end = await queue.enter(frame.visitorOf(c).name, c.req.raw.signal);
    if (end !== 'full') {
      try {
        await next();
      } finally {
        end();
      }
      return;
    }
    c.header('Retry-After', String(RETRY_AFTER_S));
    const sentence = `The page is busy. Nothing was done. Try again in ${RETRY_AFTER_S} seconds.`;
    return frame.problem(c, 429, 'Too many requests', sentence);
  };
}
