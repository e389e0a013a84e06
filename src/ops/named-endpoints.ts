import type { AnyInbox } from '../inbox/contract.ts';

/**
 * The endpoints that processors have named, by name. Without any, or with a processor that takes every endpoint, none: any name may
 * be meant then.
 */
export async function namedEndpoints(inbox: AnyInbox, now: number): Promise<readonly string[]> {
  const { handled } = await inbox.processors(now);
  const named = new Set(handled.map(({ endpoint }) => endpoint));
  return named.has('*') ? [] : [...named].toSorted();
}
