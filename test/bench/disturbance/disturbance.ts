import { setTimeout as delay } from 'node:timers/promises';
import { watchCpu, type CpuShares } from './cpu-time.ts';
import { paceMs } from './pace.ts';

/** Above this share of a core, whatever else runs on the machine is part of what is measured. */
export const othersLimit = 0.1;
/** Above this ratio to the best pace of the run, the host is busy with others. */
export const paceLimit = 1.25;

const GLANCE_MS = 500;
const WAIT_MS = 15_000;
const ATTEMPTS = 3;

/** A measurement, and whether something else ran meanwhile, however often it was tried. */
export interface Measured<T> {
  readonly value: T;
  readonly disturbed: boolean;
}

/**
 * Notices what else runs on the machine: on two cores a compiler beside costs a server a third. A run waits and measures
 * again until its patience is spent, and from then on takes what it gets and says so.
 */
export class Disturbance {
  readonly #progress: (line: string) => void;
  #leftMs: number;
  #bestPaceMs = paceMs();
  #mostOthers = 0;
  /** since the attempt began */
  #noticed: string[] = [];

  constructor(patienceMs: number, progress: (line: string) => void) {
    this.#leftMs = patienceMs;
    this.#progress = progress;
  }

  /** The most that others took of a core during what was not called disturbed. */
  get mostOthers(): number {
    return this.#mostOthers;
  }

  /** Whether something may be measured once more. */
  get isPatient(): boolean {
    return this.#leftMs > 0;
  }

  /** Counts time that was lost to others. */
  spend(ms: number): void {
    this.#leftMs -= ms;
  }

  /** How many cores nobody else uses just now. */
  async freeCores(cores: number): Promise<number> {
    const shares = await watchCpu([], delay(2 * GLANCE_MS));
    return cores - (shares?.others ?? 0);
  }

  /** Measures again if something else ran. What is to be noticed is told by `watch`. */
  async undisturbed<T>(measure: () => Promise<T>): Promise<Measured<T>> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#waitForQuiet();
      this.#noticed = [];
      const startedAt = performance.now();
      this.#notePace();
      const value = await measure();
      this.#notePace();
      if (this.#noticed.length === 0) return { value, disturbed: false };
      this.#progress(`  disturbed: ${this.#noticed.join(', ')}`);
      this.spend(performance.now() - startedAt);
      if (attempt === ATTEMPTS || !this.isPatient) return { value, disturbed: true };
    }
  }

  /** The same for what is no load: it is watched from start to end. */
  async alone<T>(measure: () => Promise<T>): Promise<Measured<T>> {
    return this.undisturbed(async () => {
      const measuring = Promise.resolve().then(measure); // not before the watch begins
      await this.watch([], measuring);
      return measuring;
    });
  }

  /** Looks at the machine until `finished` is done, and tells what these processes used. */
  async watch(pids: readonly number[], finished: Promise<unknown>): Promise<CpuShares | null> {
    const shares = await watchCpu(pids, finished);
    if (shares !== null) {
      if (shares.others > othersLimit) this.#noticed.push(`others took ${Math.round(shares.others * 100)} % of a core`);
      else this.#mostOthers = Math.max(this.#mostOthers, shares.others);
    }
    return shares;
  }

  #notePace(): void {
    const pace = paceMs();
    this.#bestPaceMs = Math.min(this.#bestPaceMs, pace);
    const ratio = pace / this.#bestPaceMs;
    if (ratio > paceLimit) this.#noticed.push(`the processor is ${ratio.toFixed(2)} times slower than it was`);
  }

  /** Until nothing else runs, for some seconds at most. */
  async #waitForQuiet(): Promise<void> {
    for (let waitedMs = 0; waitedMs < WAIT_MS && this.isPatient; waitedMs += GLANCE_MS) {
      const shares = await watchCpu([], delay(GLANCE_MS));
      if (shares === null || shares.others <= othersLimit) return;
      this.spend(GLANCE_MS);
    }
  }
}
