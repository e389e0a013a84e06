import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { median } from './median.ts';
import type { Question, ServerProcess } from './server-process.ts';

const spread = z.object({ p50: z.number(), p99: z.number(), max: z.number() });

/** Percentiles of a time in milliseconds. */
export type Spread = z.infer<typeof spread>;

/** What a server that handles its events tells of itself; it counts anew from `begin` on. */
export type HandlingCounts = z.infer<typeof handlingCounts>;

const handlingCounts = z.object({
  stored: z.number(),
  /** first runs of a handler */
  handled: z.number(),
  /** runs of a handler that had run before: nothing fails here, so there should be none */
  reruns: z.number(),
  /** from the first delivery to the last run of a handler */
  seconds: z.number(),
  /** from an answer to the start of its handler, 0 where the handler was first */
  waitMs: spread.nullable(),
  loopDelayMs: spread,
});

/** How a load's events were handled. */
export interface Handling extends HandlingCounts {
  readonly handledPerSecond: number;
  /** Of the events stored during the load, those whose handler had run when it ended. */
  readonly shareByThen: number;
}

const GLANCE_MS = 100;
/** Without a single run of a handler for so long, the rest will not be handled. Longer than a lease that is lost. */
const STALLED_MS = 20_000;

/** Waits until the warm-up's events are handled, and has the server count anew. */
export async function beginHandling(server: ServerProcess): Promise<void> {
  await untilHandled(server);
  await server.ask('begin');
}

/** Call it as soon as the load has ended; it waits until everything is handled. */
export async function endHandling(server: ServerProcess): Promise<Handling> {
  // The delay of the event loop belongs to the load, not to the work that is left behind.
  const { handled, stored, loopDelayMs } = await counts(server, 'count');
  await untilHandled(server);
  const report = await counts(server, 'report');
  return {
    ...report,
    loopDelayMs,
    handledPerSecond: report.seconds === 0 ? 0 : report.handled / report.seconds,
    shareByThen: stored === 0 ? 0 : handled / stored,
  };
}

/** One of several: sums of what is counted, medians of what varies, and the worst of the longest. */
export function middleHandling(all: readonly Handling[]): Handling | null {
  if (all.length === 0) return null;
  const sum = (of: (handling: Handling) => number): number => all.reduce((total, handling) => total + of(handling), 0);
  const middle = (of: (handling: Handling) => number): number => median(all.map(of));
  const waits = all.flatMap(({ waitMs }) => waitMs ?? []);
  return {
    stored: sum(({ stored }) => stored),
    handled: sum(({ handled }) => handled),
    reruns: sum(({ reruns }) => reruns),
    seconds: middle(({ seconds }) => seconds),
    waitMs: waits.length === 0 ? null : middleSpread(waits),
    loopDelayMs: middleSpread(all.map(({ loopDelayMs }) => loopDelayMs)),
    handledPerSecond: middle(({ handledPerSecond }) => handledPerSecond),
    shareByThen: middle(({ shareByThen }) => shareByThen),
  };
}

function middleSpread(spreads: readonly Spread[]): Spread {
  return {
    p50: median(spreads.map(({ p50 }) => p50)),
    p99: median(spreads.map(({ p99 }) => p99)),
    max: Math.max(...spreads.map(({ max }) => max)),
  };
}

async function untilHandled(server: ServerProcess): Promise<void> {
  let before = -1;
  let changedAt = performance.now();
  for (;;) {
    const { stored, handled } = await counts(server, 'count');
    if (handled >= stored) return;
    if (handled !== before) changedAt = performance.now();
    else if (performance.now() - changedAt > STALLED_MS) return;
    before = handled;
    await delay(GLANCE_MS);
  }
}

async function counts(server: ServerProcess, question: Question): Promise<HandlingCounts> {
  return handlingCounts.parse(await server.ask(question));
}
