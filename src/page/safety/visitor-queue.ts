import type { MiddlewareHandler } from 'hono';
import type { Frame, PageEnv } from '../frame.tsx';

interface QueueBounds {
  readonly concurrent: number;
  readonly concurrentEach: number;
  readonly waiting: number;
  readonly waitingEach: number;
}

/** Searches share a thread, or the pool of the deliveries. A slow search leaves its visitor room for the overview. */
const BOUNDS: QueueBounds = { concurrent: 4, concurrentEach: 2, waiting: 64, waitingEach: 16 };
const RETRY_AFTER_S = 2;

interface VisitorQueue {
  /** Resolves with the end of the turn, in the order of arrival, or at once with `full`. */
  enter(visitor: string, signal: AbortSignal): Promise<'full' | (() => void)>;
}

interface Waiting {
  readonly visitor: string;
  readonly begin: () => void;
}

export function visitorQueue({ concurrent, concurrentEach, waiting, waitingEach }: QueueBounds = BOUNDS): VisitorQueue {
  const turns = new Set<{ readonly visitor: string }>();
  const queue = new Set<Waiting>();

  const of = (visitor: string, among: Iterable<{ readonly visitor: string }>): number =>
    [...among].filter((one) => one.visitor === visitor).length;
  const mayBegin = (visitor: string): boolean => turns.size < concurrent && of(visitor, turns) < concurrentEach;

  function begin(visitor: string): () => void {
    const turn = { visitor };
    turns.add(turn);
    return () => {
      if (turns.delete(turn)) [...queue].find((one) => mayBegin(one.visitor))?.begin();
    };
  }

  return {
    async enter(visitor, signal) {
      signal.throwIfAborted();
      if (mayBegin(visitor)) return begin(visitor);
      if (queue.size >= waiting || of(visitor, queue) >= waitingEach) return 'full';
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

export function inTurn(frame: Frame, queue: VisitorQueue = visitorQueue()): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    const end = await queue.enter(frame.visitOf(c).visitor.name, c.req.raw.signal);
    if (end === 'full') {
      c.header('Retry-After', String(RETRY_AFTER_S));
      const sentence = `The page is busy. Nothing was done. Try again in ${RETRY_AFTER_S} seconds.`;
      return frame.problem(c, 429, 'Too many requests', sentence);
    }
    try {
      await next();
    } finally {
      end();
    }
    return;
  };
}
