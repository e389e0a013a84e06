import type { AnyInbox } from '../inbox/contract.ts';
import { seenSince } from '../inbox/rules/processors.ts';

/**
 * The endpoints that processors have named, by name. Without any, or while a processor takes every endpoint, none: any name
 * may be meant then.
 */
export async function namedEndpoints(inbox: AnyInbox, now: number): Promise<readonly string[]> {
  const { handled } = await inbox.processors(now);
  if (handled.some(({ endpoint, seenAt }) => endpoint === '*' && seenAt.getTime() > seenSince(now))) return [];
  const named = handled.map(({ endpoint }) => endpoint).filter((endpoint) => endpoint !== '*');
  return [...new Set(named)].toSorted();
}
