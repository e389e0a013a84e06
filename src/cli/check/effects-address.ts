import { delay, performance } from '../../host/real-timers.ts';
import { agentFor, exchange, type Agent } from './exchange.ts';

/** What an event has had done so far, as far as the address says. */
export interface Effect {
  /** its rows in the inbox */
  readonly rows: number | null;
  /** how often its work was done; without `rows`, the user may count these in */
  readonly count: number | null;
}

/** Why nothing is known. */
export interface NoCount {
  readonly why: string;
}

/** The larger number of the two. */
export function most({ rows, count }: Effect): number {
  return Math.max(rows ?? 0, count ?? 0);
}

/** The rows, where the address says how many. */
export function rowsOrCount({ rows, count }: Effect): number {
  return rows ?? count ?? 0;
}

/** What the address may answer. */
export const FORMS = 'a number, {"count": n} or {"rows": n, "count": n}';

const PLACE = '{id}';

/** Asks the address of `--effects` how many effects an event has had: the only witness of what happens inside. */
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

  /** What the address says of an event. */
  async of(id: string): Promise<Effect | NoCount> {
    const url = effectsUrl(this.#template, id);
    const answer = await exchange(url, { method: 'GET', agent: this.#agent }, this.#limits);
    if (answer.status === null) return { why: answer.message };
    if (answer.status !== 200) return { why: `it returned ${answer.status}` };
    return effectIn(answer.body) ?? { why: `it did not return ${FORMS}` };
  }

  /** Asks again until there is something to count or the time is over. */
  async onceThere(id: string, withinMs: number, counted: (effect: Effect) => number): Promise<Effect | NoCount> {
    const giveUpAt = performance.now() + withinMs;
    for (;;) {
      const effect = await this.of(id);
      if ('why' in effect || counted(effect) > 0 || performance.now() > giveUpAt) return effect;
      await delay(50, undefined, { signal: this.#limits.signal });
    }
  }

  /** Ends its connections. */
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

function effectIn(text: string): Effect | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const told = typeof value === 'object' && value !== null ? value : { count: value };
  const rows = 'rows' in told ? told.rows : null;
  const count = 'count' in told ? told.count : null;
  if (rows === null && count === null) return null;
  return isCountOrNull(rows) && isCountOrNull(count) ? { rows, count } : null;
}

function isCountOrNull(value: unknown): value is number | null {
  return value === null || (Number.isInteger(value) && (value as number) >= 0);
}
