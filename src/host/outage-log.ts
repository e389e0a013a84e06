import { performance } from './real-timers.ts';
import type { Logger } from './logger.ts';

/** What may fail for a while, with a line of its own when it is over. */
export interface OutageLog {
  /**
   * It has failed.
   *
   * @param isTold - a line says so: without one, nobody waits to hear of the end
   */
  failed(isTold: boolean): void;
  /** It was asked, and has not failed. */
  answered(): void;
}

/**
 * Says once for each outage that it is over, and for how long it was seen to fail: it may be asked again only long after that.
 *
 * @param times - so many answers, one after the other, end an outage; one unless set
 */
export function outageLog(
  logger: Logger,
  message: string,
  { facts = {}, times = 1 }: { readonly facts?: Readonly<Record<string, unknown>>; readonly times?: number } = {},
): OutageLog {
  let since: number | null = null;
  let last = 0;
  let answers = 0;
  return {
    failed(isTold) {
      answers = 0;
      last = performance.now();
      if (isTold) since ??= last;
    },
    answered() {
      if (since === null) return;
      answers += 1;
      if (answers < times) return;
      const failedForSeconds = Math.round((last - since) / 1_000);
      since = null;
      logger.warn({ ...facts, failedForSeconds }, message);
    },
  };
}
