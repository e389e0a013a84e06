import type { AnyInbox } from '../inbox/contract.ts';
import { EVERYTHING, type IgnoredType, type UnhandledType } from '../inbox/work.ts';
import { rerunOfferedSince } from '../inbox/rules/takers.ts';

/** What nobody handles, or nobody did. */
export interface Unhandled {
  /** events that have waited for ten minutes, of types that nobody is there to handle */
  readonly waiting: readonly UnhandledType[];
  /** events that were ignored in the last seven days because nobody handled their type, which somebody does now */
  readonly putAway: readonly IgnoredType[];
  /** when those seven days begin, as a filter has it in `ignoredSince` */
  readonly ignoredSince: Date;
}

/** Whether somebody has to start a processor, or to rerun what was put away before one came. */
export async function unhandledEvents(inbox: AnyInbox, now = Date.now()): Promise<Unhandled> {
  const since = rerunOfferedSince(now);
  const [waiting, ignored] = await Promise.all([inbox.unhandled(now), inbox.ignoredSince(EVERYTHING, since, now)]);
  return { waiting, putAway: ignored.filter(({ handled }) => handled), ignoredSince: new Date(since) };
}
