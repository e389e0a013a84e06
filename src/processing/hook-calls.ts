import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { nameOf } from '../errors.ts';
import { throttle, type Logger } from '../host/logger.ts';
import { unheld } from '../host/unheld-timer.ts';

/**
 * A function that hookbox calls to alert you. Neither the result of this function nor an error in it has any effect.
 */
export type Hook<Facts> = (facts: Facts) => unknown;

/** So many calls of hooks may be under way at once; what comes beyond that is not told. */
const MOST = 100;
/** A call that takes longer is waited for no more. */
const LIMIT_MS = 30_000;
/** How long `close` waits for those that are under way. */
const CLOSE_MS = 2_000;

/** Calls hooks beside what they are told of: nothing waits for one, and none can make anything fail. */
export class HookCalls {
  readonly #logger: Logger;
  readonly #seldom = throttle();
  readonly #underWay = new Set<Promise<void>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  call<Facts extends { readonly endpoint: string }>(name: string, hook: Hook<Facts> | undefined, facts: Facts): void {
    if (hook === undefined) return;
    if (this.#underWay.size >= MOST) {
      this.#warn(`${name} full`, { hook: name }, 'too many hook calls are running, so this call was skipped');
      return;
    }
    const { promise: limit, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = unheld(setTimeout(giveUp, LIMIT_MS));
    const called = Promise.resolve()
      .then(() => hook(facts))
      .then(
        () => {},
        // Its text may quote what it was about to tell.
        (failure: unknown) => this.#warn(name, { hook: name, error: nameOf(failure) }, 'a hook failed'),
      );
    const done = Promise.race([called, limit]).finally(() => {
      clearTimeout(timer);
      this.#underWay.delete(done);
    });
    this.#underWay.add(done);
  }

  /** Resolves when all that are under way have ended; `null` when none is. */
  pending(): Promise<unknown> | null {
    return this.#underWay.size === 0 ? null : Promise.all(this.#underWay);
  }

  /** Waits for those that are under way, for a short while. */
  async close(): Promise<void> {
    const pending = this.pending();
    if (pending === null) return;
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_MS);
    await Promise.race([pending, limit]).finally(() => clearTimeout(timer));
  }

  #warn(kind: string, facts: Readonly<Record<string, unknown>>, message: string): void {
    this.#seldom(kind, (suppressed) => this.#logger.warn({ ...facts, suppressed }, message));
  }
}
