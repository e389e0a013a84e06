/**
 * Tells by when the leases of others must have ended to have run out. Usually that is now: whoever lives renews its leases.
 * But whoever was suspended, saw its clock jump, or could not write, as when the disk was full, cannot tell who has crashed
 * meanwhile: the others may have been no better off. It gives them the time of one lease to renew theirs.
 */
export class Doubt {
  readonly #leaseMs: number;
  readonly #lookMs: number;
  /** when it last looked, and when it last could write */
  #lookedAt: number;
  #wroteAt: number;
  /** leases that ended in between are not judged before `until` */
  #since: number | null = null;
  #until = 0;
  /** the clock was set back, and nobody here has claimed since */
  #isSetBack = false;

  /** @param lookMs - how often it looks */
  constructor({ leaseMs, lookMs, now }: { readonly leaseMs: number; readonly lookMs: number; readonly now: number }) {
    this.#leaseMs = leaseMs;
    this.#lookMs = lookMs;
    this.#lookedAt = now;
    this.#wroteAt = now;
  }

  /**
   * It looks again.
   *
   * @returns whether the clock was set back, and a claim has still to follow it
   */
  look(now: number): boolean {
    this.#noteAbsence(now);
    const isSetBack = now < this.#lookedAt;
    this.#lookedAt = now;
    if (!isSetBack) return this.#isSetBack;
    this.#isSetBack = true;
    this.#wroteAt = Math.min(this.#wroteAt, now);
    if (this.#since !== null) this.#begin(now, now);
    return true;
  }

  /** A claim was made: what was written before the clock was set back has moved with it. */
  claimed(askedAt: number, now: number): void {
    this.#isSetBack = false;
    this.wrote(askedAt, now);
  }

  /**
   * Where every write is slow, doubt does not begin again before a claim was made without: somebody has to see who has
   * crashed.
   *
   * @param askedAt - when it asked for what is written now: it has waited since, as for a lock
   */
  wrote(askedAt: number, now: number): void {
    if (now - askedAt > this.#tolerated && this.#since === null) this.#begin(askedAt, now);
    // The clock was set back meanwhile, and what is written now has a time from before.
    if (now < askedAt) this.#isSetBack = true;
    this.#wroteAt = now;
  }

  failed(now: number): void {
    this.#begin(this.#wroteAt, now);
  }

  ranOutBy(now: number): number {
    // What arrives just after a sleep is claimed before it looks again.
    this.#noteAbsence(now);
    if (this.#since === null) return now;
    if (now < this.#until) return Math.min(this.#since, now);
    this.#since = null;
    return now;
  }

  /** Two thirds of a lease are left whenever its holder goes to renew it. */
  get #tolerated(): number {
    return Math.max((this.#leaseMs / 3) * 2, this.#lookMs);
  }

  #noteAbsence(now: number): void {
    if (now - this.#lookedAt <= this.#lookMs + this.#tolerated) return;
    this.#begin(this.#lookedAt, now);
    this.#lookedAt = now;
  }

  #begin(since: number, now: number): void {
    this.#since = Math.min(this.#since ?? since, since);
    this.#until = now + this.#leaseMs;
  }
}
