import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { HandlingQuestion, ServerProcess } from './server-process.ts';

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

/** Runs a load, and waits until everything it stored is handled. */
export async function handlingDuring<T>(server: ServerProcess, load: () => Promise<T>): Promise<[T, Handling]> {
  await untilHandled(server); // what the warm-up has stored
  await server.ask('begin');
  const result = await load();
  const { handled, stored } = await counts(server, 'count');
  await untilHandled(server);
  const report = await counts(server, 'report');
  if (report.handled !== report.stored || report.reruns !== 0) {
    throw new Error(`Of ${report.stored} events ${report.handled} were handled, ${report.reruns} again.`);
  }
  const handledPerSecond = report.seconds === 0 ? 0 : report.handled / report.seconds;
  return [result, { ...report, handledPerSecond, shareByThen: stored === 0 ? 0 : handled / stored }];
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

async function counts(server: ServerProcess, question: HandlingQuestion): Promise<HandlingCounts> {
  return handlingCounts.parse(await server.ask(question));
}
