import type { Inbox } from '../../src/inbox/contract.ts';
import { incoming, later } from '../helpers/incoming-event.ts';

/** Stores event after event while something else runs, each in a commit of its own: how many, and what came of the other. */
export async function deliverDuring<T>(
  inbox: Inbox,
  running: Promise<T>,
  event: (n: number) => Parameters<typeof incoming>[0],
): Promise<{ readonly taken: number; readonly result: T }> {
  const ended = new AbortController();
  const watched = running.finally(() => ended.abort());
  let taken = 0;
  for (; !ended.signal.aborted; taken += 1) await inbox.accept(incoming(event(taken)), later());
  return { taken, result: await watched };
}
