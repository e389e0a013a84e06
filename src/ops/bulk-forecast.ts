import type { AnyInbox } from '../inbox/contract.ts';
import type { Bulk } from '../inbox/operator/acts.ts';
import { USUAL_RATE } from './bulks.ts';
import { operationsOf } from './operations-of.ts';
import { Sums } from './stats.ts';
import { age, number, plural } from './words/format.ts';

const MINUTE_MS = 60_000;
const MINUTES = 60;

/** How many handler runs ended in the busiest minute of the last hour. */
async function busiestMinute(inbox: AnyInbox, now: number): Promise<number> {
  const until = Math.floor(now / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const spans = Array.from({ length: MINUTES }, (_, n) => {
    const since = until - (MINUTES - n) * MINUTE_MS;
    return { since, until: since + MINUTE_MS };
  });
  const counted = await operationsOf(inbox).totalsIn(spans);
  const ended = counted.map((totals) => {
    const sums = new Sums();
    for (const total of totals) sums.add(total);
    const { processed, failed, dead } = sums.totals();
    return processed + failed + dead;
  });
  return Math.max(0, ...ended);
}

export interface Forecast {
  /** how long the bulk action itself takes */
  readonly actMs: number;
  /** `null` if no handler runs after the action, or none ran in the last hour */
  readonly handlers: { readonly perMinute: number; readonly ms: number } | null;
}

export async function forecast(
  inbox: AnyInbox,
  { act, total, worked }: Pick<Bulk, 'act' | 'total' | 'worked'>,
  now = Date.now(),
): Promise<Forecast> {
  const left = total - worked;
  const perMinute = act === 'discard' ? 0 : await busiestMinute(inbox, now);
  return {
    actMs: (left / USUAL_RATE) * 1_000,
    handlers: perMinute === 0 ? null : { perMinute, ms: (left / perMinute) * MINUTE_MS },
  };
}

const WORTH_TELLING_MS = 1_000;

export function againInWords({ act, breakdown: { again = 0 } }: Pick<Bulk, 'act' | 'breakdown'>): string | null {
  if (act !== 'rerun' || again === 0) return null;
  return `${again === 1 ? '1 of these events was' : `${number(again)} of these events were`} rerun before, and became dead again.`;
}

export function actingInWords({ actMs }: Forecast): string | null {
  if (actMs < WORTH_TELLING_MS) return null;
  return `At ${number(USUAL_RATE)} events a second, the bulk action itself takes ${age(actMs)}.`;
}

export function handlingInWords({ handlers }: Forecast): string | null {
  if (handlers === null || handlers.ms < MINUTE_MS) return null;
  const { perMinute, ms } = handlers;
  return `In the last hour, handlers ran up to ${plural(perMinute, 'time')} a minute. At this rate, they need ${age(ms)}.`;
}

/** `null` as long as the rate is unknown. */
export function timeLeft({ total, worked, ranMs }: Pick<Bulk, 'total' | 'worked' | 'ranMs'>): number | null {
  return worked === 0 || ranMs < WORTH_TELLING_MS ? null : ((total - worked) * ranMs) / worked;
}
