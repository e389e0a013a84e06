import type { ProcessorIdentity, ProcessorsSeen, Scope } from '../work.ts';
import type { Processors } from './engine.ts';
import type { Steps } from './steps.ts';
import { seenSince } from './takers.ts';

/** A processor is there, and whoever has not been seen for as long as that takes is not. */
export function* noteProcessor(
  engine: Processors,
  processor: ProcessorIdentity,
  scope: Scope,
  now: number,
): Steps<void> {
  yield* engine.saveProcessor({ ...processor, ...scope, seenAt: now });
  yield* engine.forgetProcessors(seenSince(now));
}

/** Who is there, and who ever was. */
export function* processorsSeen(engine: Processors, now: number): Steps<ProcessorsSeen> {
  const living = yield* engine.processorsAfter(seenSince(now));
  const handled = yield* engine.everTaken();
  return {
    processors: living.map(({ startedAt, seenAt, ...processor }) => ({
      ...processor,
      startedAt: new Date(startedAt),
      seenAt: new Date(seenAt),
    })),
    handled: handled.map(({ endpoint, type, at }) => ({ endpoint, type, seenAt: new Date(at) })),
  };
}
