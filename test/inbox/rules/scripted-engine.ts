import type { BulkEngine } from '../../../src/inbox/rules/bulks.ts';
import type { Engine, Starts } from '../../../src/inbox/rules/engine.ts';
import type { Erasures } from '../../../src/inbox/rules/erase-events.ts';
import type { Imports } from '../../../src/inbox/rules/import-events.ts';
import type { Prunings } from '../../../src/inbox/rules/pruning.ts';
import { answer } from '../../../src/inbox/rules/steps.ts';

/** It knows every statement that a rule asks for. */
type AnyEngine = Engine & Starts & Imports & Prunings & Erasures & BulkEngine;
type Asked = readonly [name: string, ...parameters: unknown[]];
type Reply = (...parameters: never[]) => unknown;

/** What most rules need to be told, and hardly any is about. */
const SELDOM: { readonly [name: string]: Reply } = { pauses: () => [], nextInQueues: () => [] };

/**
 * An engine of which a test says the answers, by the name of the statement; whatever else it is asked has nothing to say.
 *
 * @returns also everything that it was asked, counts included
 */
export function scripted(replies: { readonly [name: string]: Reply } = {}): {
  readonly engine: AnyEngine;
  readonly asked: readonly Asked[];
  /** What it was asked by one of these names. */
  readonly of: (...names: readonly string[]) => readonly Asked[];
} {
  const asked: Asked[] = [];
  const note =
    (name: string) =>
    (...parameters: unknown[]): unknown => {
      asked.push([name, ...parameters]);
      const reply = (replies[name] ?? SELDOM[name]) as ((...parameters: unknown[]) => unknown) | undefined;
      return reply?.(...parameters);
    };
  const endless = { add: () => false, isOver: () => false };
  const engine = new Proxy({} as AnyEngine, {
    get(_, name) {
      if (name === 'counts') return { count: note('count'), countType: note('count'), countMs: note('count') };
      if (name === 'timeSlice') return replies['timeSlice'] ?? (() => endless);
      const statement = note(String(name));
      return (...parameters: unknown[]) => answer(statement(...parameters));
    },
  });
  return { engine, asked, of: (...names) => asked.filter(([name]) => names.includes(name)) };
}

/** A slice that is over after so many events. */
export function sliceOf(events: number) {
  let left = events;
  return () => ({
    add: () => {
      left -= 1;
      return left <= 0;
    },
    isOver: () => left <= 0,
  });
}
