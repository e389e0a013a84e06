import type { AnyInbox } from '../inbox/contract.ts';
import { processingOf, type Processing } from './processors.ts';
import { trafficOf, type AllTraffic } from './traffic/what-comes-in.ts';
import { unhandledEvents, type Unhandled } from './unhandled.ts';

/** What nobody may notice by itself: that nothing comes, that all is rejected, that nobody handles anything. */
export interface Watch extends Processing {
  readonly traffic: AllTraffic;
  readonly unhandled: Unhandled;
}

/** A problem that hookbox warns about. */
export type Alarm =
  /** No deliveries arrive, although many are expected. */
  | 'silent'
  /** All or nearly all deliveries are rejected. */
  | 'rejecting'
  /** The processors of an endpoint are gone. */
  | 'no-processor'
  /** Events are pending and no running processor handles their type. */
  | 'unhandled';

/** Looks at an inbox as a watchman does. */
export async function watch(inbox: AnyInbox, now = Date.now()): Promise<Watch> {
  const [traffic, handling] = await Promise.all([trafficOf(inbox, now), handlingOf(inbox, now)]);
  return { traffic, ...handling };
}

async function handlingOf(inbox: AnyInbox, now: number): Promise<Omit<Watch, 'traffic'>> {
  const unhandled = await unhandledEvents(inbox, now);
  return { unhandled, ...(await processingOf(inbox, unhandled.waiting, now)) };
}
