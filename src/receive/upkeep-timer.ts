import { ownContext } from '../host/own-context.ts';
import { type Logger, upkeepLog } from '../host/logger.ts';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { unrefTimer } from '../host/unref-timer.ts';
import type { Inbox } from '../inbox/contract.ts';
import { UPKEEP_EVERY_MS } from '../processing/limits.ts';

/** The upkeep of an inbox while the receiver's processor is not started, as in inline mode. */
export interface UpkeepTimer {
  begin(): void;
  stop(): void;
}

interface UpkeepSettings {
  readonly now: () => number;
  readonly isNeeded: () => boolean;
  readonly logger: Logger;
}

export function upkeepTimer(inbox: Inbox, { now, isNeeded, logger }: UpkeepSettings): UpkeepTimer {
  const inOwnContext = ownContext();
  let timer: NodeJS.Timeout | undefined;

  async function keepUp(): Promise<void> {
    try {
      if (isNeeded()) await inbox.upkeep?.({ now, isOpen: isNeeded, report: upkeepLog(logger) });
    } catch {
      // A failing inbox is reported elsewhere.
    }
    timer = undefined;
  }

  return {
    begin() {
      if (inbox.upkeep === undefined || !isNeeded()) return;
      timer ??= inOwnContext(() => unrefTimer(setTimeout(() => void keepUp(), UPKEEP_EVERY_MS)));
    },
    stop: () => clearTimeout(timer),
  };
}
