import { setTimeout as delay } from 'node:timers/promises';
import { watchCpu } from './cpu-time.ts';

/** Above this share of a core, whatever else runs on the machine is part of what is measured. */
export const disturbanceLimit = 0.1;

const GLANCE_MS = 250;
const WAIT_MS = 15_000;

/**
 * How long a run puts up with others on the machine: on two cores a compiler beside costs a server a third. It waits
 * and measures again until its patience is spent, and from then on takes what it gets and says so.
 */
export class Patience {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** Whether a disturbed measurement may be repeated. */
  get isLeft(): boolean {
    return this.#leftMs > 0;
  }

  /** Counts time that was lost to others. */
  spend(ms: number): void {
    this.#leftMs -= ms;
  }

  /** Waits until nothing else runs, for some seconds at most. */
  async waitForQuiet(): Promise<void> {
    for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += GLANCE_MS) {
      const shares = await watchCpu([process.pid], delay(GLANCE_MS));
      if (shares === null || shares.others <= disturbanceLimit) return;
      this.spend(GLANCE_MS);
      if (!this.isLeft) return;
    }
  }
}
