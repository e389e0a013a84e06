import { setTimeout as delay } from 'node:timers/promises';
import { agentFor, exchange, type Agent } from './exchange.ts';

/** How many effects an event has had, or why that cannot be told. */
export type Count = number | { readonly why: string };

const PLACE = '{id}';

/** Asks an address of the user's how many effects an event has had: the only witness of what happens inside. */
export class Effects {
  readonly #template: string;
  readonly #agent: Agent;
  readonly #limits: { readonly patienceMs: number; readonly signal: AbortSignal };

  /** @throws TypeError for an address that cannot be asked */
  constructor(template: string, limits: { readonly patienceMs: number; readonly signal: AbortSignal }) {
    this.#template = template;
    this.#agent = agentFor(effectsUrl(template, 'evt_check'), Infinity);
    this.#limits = limits;
  }

  async count(id: string): Promise<Count> {
    const url = effectsUrl(this.#template, id);
    const answer = await exchange(url, { method: 'GET', agent: this.#agent }, this.#limits);
    if (answer.status === null) return { why: answer.message };
    if (answer.status !== 200) return { why: `it answered ${answer.status}` };
    return countIn(answer.body) ?? { why: 'it answered neither a number nor {"count": n}' };
  }

  /** Asks again until there is an effect or the time is over. */
  async countOnceThere(id: string, withinMs: number): Promise<Count> {
    const giveUpAt = performance.now() + withinMs;
    for (;;) {
      const count = await this.count(id);
      if (count !== 0 || performance.now() > giveUpAt) return count;
      await delay(50, undefined, { signal: this.#limits.signal });
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/**
 * The address to ask about an event.
 *
 * @throws TypeError for a template that makes none
 */
export function effectsUrl(template: string, id: string): URL {
  if (!template.includes(PLACE)) throw new TypeError(`${JSON.stringify(template)} has no ${PLACE} in it.`);
  return new URL(template.replaceAll(PLACE, encodeURIComponent(id)));
}

function countIn(text: string): number | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const count: unknown = typeof value === 'object' && value !== null && 'count' in value ? value.count : value;
  return Number.isInteger(count) && (count as number) >= 0 ? (count as number) : null;
}
