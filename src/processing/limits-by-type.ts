import type { HandledEvent } from '../events/webhook-event.ts';
import type { RetryOptions } from '../inbox/rules/attempt.ts';
import type { Handler, Handlers, HandlerWithOptions } from './handlers.ts';
import { retryOf, type TypeOptions } from './type-options.ts';

/** How the events of one type are handled. */
export type TypeLimits = Readonly<Record<'timeoutMs', number>> & {
  readonly retry: Required<RetryOptions>;
  /** whether a failing event holds back newer ones of its entity until it has succeeded or is dead */
  readonly blocks: boolean;
};

/** The options of handlers by the type of an event: those that a handler brings along, and for the rest what all have. */
export interface LimitsByType {
  of(type: string): TypeLimits;
  /** How many events of each handler may run at once; `null` where none has a bound of its own. */
  readonly bounds: ReadonlyMap<string, number> | null;
}

/** @param all - what holds where a handler says nothing */
export function limitsByType(
  handlers: Handlers,
  all: Pick<TypeOptions, 'retry'> & { timeoutMs: number },
): LimitsByType {
  const limits = new Map<string, TypeLimits>();
  const bounds = new Map<string, number>();
  for (const [type, handler] of Object.entries(handlers)) {
    const own: TypeOptions = typeof handler === 'object' ? handler : {};
    const { timeoutMs = all.timeoutMs, blocks = true, concurrency = Infinity } = own;
    limits.set(type, { timeoutMs, blocks, retry: retryOf('retry', all.retry, own.retry) });
    bounds.set(type, concurrency);
  }
  const rest = limits.get('*') ?? { timeoutMs: all.timeoutMs, blocks: true, retry: retryOf('retry', all.retry) };
  return {
    of: (type) => limits.get(type) ?? rest,
    bounds: [...bounds.values()].every((bound) => bound === Infinity) ? null : bounds,
  };
}

/** The function for a type, or that of `'*'`. The record's types hold that each is given the event it is written for. */
export function handlerFor(handlers: Handlers, type: string): Handler<HandledEvent> {
  const all = handlers as Readonly<Record<string, Handler<never> | HandlerWithOptions<never>>>;
  const handler = (Object.hasOwn(handlers, type) ? all[type] : undefined) ?? all['*'];
  if (handler === undefined) throw new Error(`no handler for ${type}`);
  return (typeof handler === 'function' ? handler : handler.handle) as Handler<HandledEvent>;
}
