import type { AnyInbox } from '../inbox/contract.ts';
import { EVERYTHING, type IgnoredType, type UnhandledType } from '../inbox/work.ts';
import { rerunOfferedSince } from '../inbox/rules/processors.ts';

/** Events that no processor handles, or that were ignored because no processor handled their type. */
export interface Unhandled {
  /** Events that have been pending for ten minutes and whose type no running processor handles. */
  readonly waiting: readonly UnhandledType[];
  /**
   * Events that were ignored in the last seven days because no processor handled their type, and whose type a processor
   * handles now.
   */
  readonly ignored: readonly IgnoredType[];
  /** The beginning of these seven days, to pass as the filter condition `ignoredSince`. */
  readonly ignoredSince: Date;
}

/** Whether somebody has to start a processor, or to rerun what was ignored before one came. */
export async function unhandledEvents(inbox: AnyInbox, now = Date.now()): Promise<Unhandled> {
  const since = rerunOfferedSince(now);
  const [waiting, ignored] = await Promise.all([inbox.unhandled(now), inbox.ignoredSince(EVERYTHING, since, now)]);
  return { waiting, ignored: ignored.filter(({ handled }) => handled), ignoredSince: new Date(since) };
}
