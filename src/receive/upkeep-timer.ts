import { ownContext } from '../host/own-context.ts';
import { type Logger, upkeepLog } from '../host/logger.ts';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { unheld } from '../host/unheld-timer.ts';
import type { Inbox } from '../inbox/contract.ts';
import { UPKEEP_EVERY_MS } from '../processing/limits.ts';

/** The upkeep of an inbox when the receiver's own processor is not started, as in inline mode. */
export interface UpkeepTimer {
  /** A delivery came in: a minute from now there may be something to do. */
  begin(): void;
  stop(): void;
}

interface UpkeepSettings {
  readonly now: () => number;
  readonly isNeeded: () => boolean;
  readonly logger: Logger;
}

/**
 * One timer at a time, which keeps no process alive; it waits for deliveries again once the upkeep is done.
 *
 * @param isNeeded - asked before and while it is done
 */
export function upkeepTimer(inbox: Inbox, { now, isNeeded, logger }: UpkeepSettings): UpkeepTimer {
  const inOwnContext = ownContext();
  let timer: NodeJS.Timeout | undefined;

  async function keepUp(): Promise<void> {
    try {
      if (isNeeded()) await inbox.upkeep?.({ now, isOpen: isNeeded, report: upkeepLog(logger) });
    } catch {
      // An inbox that cannot do this now has told of worse already.
    }
    timer = undefined;
  }

  return {
    begin() {
      if (inbox.upkeep === undefined || !isNeeded()) return;
      timer ??= inOwnContext(() => unheld(setTimeout(() => void keepUp(), UPKEEP_EVERY_MS)));
    },
    stop: () => clearTimeout(timer),
  };
}
