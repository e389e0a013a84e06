import { randomInt } from 'node:crypto';
import { InboxUnavailableError, isInstance } from '../errors.ts';
import type { NumberedClaim, NumberedStart } from './rules/leases.ts';
import type { ClaimRequest, CrashedEvent, Lease, Settled, StartRequest, TellCrashed } from './work.ts';

/** As many numbers as fit into a fence of SQLite; 0 is nobody's. */
const NUMBERS = 2 ** 32;

/** An inbox that is full, closed or late has not begun to store the event. */
function mayBeStored(failure: unknown): boolean {
  return !isInstance(failure, InboxUnavailableError) || failure.code === 'FAILED';
}

/**
 * What was asked of a thread that has died before it answered, or of a server whose connection was lost after COMMIT was sent:
 * nobody knows whether it was done. So what is asked next says what was asked before.
 */
export class Unheard {
  #claims: readonly number[] = [];
  /** of each of these what was told of it, as more than one of its steps may have been answered */
  readonly #told = new Map<number, Set<string>>();
  readonly #settled = new WeakSet<Lease>();

  /**
   * A claim, which first gives back what was claimed for nobody, and tells of what was found crashed and told to nobody.
   *
   * @param tell - told of each once
   */
  async claim<Answer>(
    request: ClaimRequest,
    tell: TellCrashed,
    ask: (claim: NumberedClaim, tell: TellCrashed) => Promise<Answer>,
  ): Promise<Answer> {
    const unheard = this.#claims;
    this.#claims = [];
    // A number is used again when its answer was lost, so there are never more of them than claims at a time.
    const number = unheard[0] ?? randomInt(1, NUMBERS);
    const numbers = new Set([number, ...unheard]);
    try {
      const answer = await ask({ ...request, number, unheard }, (crashed) => tell(this.#untold(numbers, crashed)));
      for (const each of numbers) this.#told.delete(each);
      return answer;
    } catch (failure) {
      this.#claims = [...new Set([...this.#claims, ...unheard, number])];
      throw failure;
    }
  }

  /**
   * An event that is stored as running. If its answer is lost, the next claim gives it back.
   *
   * @param ask - without a start, it stores the event for a claim
   */
  async start<Answer>(
    request: StartRequest,
    ask: (start: NumberedStart | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    // Until then none is added: a disk that stays full must not add one for each delivery.
    if (this.#claims.length > 0) return ask(undefined);
    const number = randomInt(1, NUMBERS);
    try {
      return await ask({ ...request, number });
    } catch (failure) {
      if (mayBeStored(failure)) this.#claims = [...this.#claims, number];
      throw failure;
    }
  }

  #untold(numbers: ReadonlySet<number>, crashed: readonly CrashedEvent[]): readonly CrashedEvent[] {
    return crashed.filter(({ endpoint, id, attempt }) => {
      const name = JSON.stringify([endpoint, id, attempt]);
      if ([...numbers].some((number) => this.#told.get(number)?.has(name) === true)) return false;
      for (const number of numbers) this.#told.set(number, (this.#told.get(number) ?? new Set()).add(name));
      return true;
    });
  }

  /** The end of an attempt; `again` where this was asked for before. */
  async settle(lease: Lease, ask: (again: boolean) => Promise<Settled>): Promise<Settled> {
    try {
      return await ask(this.#settled.has(lease));
    } catch (failure) {
      this.#settled.add(lease);
      throw failure;
    }
  }
}
