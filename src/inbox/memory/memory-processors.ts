import type { NotedProcessor, Processors } from '../rules/engine.ts';
import { answer, DONE } from '../rules/steps.ts';

export interface MemoryProcessors extends Omit<Processors, 'everTaken'> {
  /** Whoever was seen before the clock was set back was so that much earlier. */
  setProcessorsBack(now: number, back: number): void;
}

/** The processors that run, in memory. */
export function memoryProcessors(): MemoryProcessors {
  const running = new Map<string, NotedProcessor>();
  return {
    saveProcessor(processor) {
      running.set(processor.name, processor);
      return DONE;
    },
    forgetProcessors(notSeenSince) {
      for (const { name, seenAt } of running.values()) if (seenAt <= notSeenSince) running.delete(name);
      return DONE;
    },
    forgetProcessor(name) {
      running.delete(name);
      return DONE;
    },
    processorsAfter(since) {
      const living = [...running.values()].filter(({ seenAt }) => seenAt > since);
      return answer(
        living.toSorted((one, other) => one.startedAt - other.startedAt || (one.name < other.name ? -1 : 1)),
      );
    },
    setProcessorsBack(now, back) {
      for (const [name, processor] of running) {
        if (processor.seenAt > now) running.set(name, { ...processor, seenAt: processor.seenAt - back });
      }
    },
  };
}
