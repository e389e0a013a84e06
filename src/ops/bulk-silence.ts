import { delay as sleep } from '../host/real-timers.ts';
import type { Bulk, StoredBulk } from '../inbox/operator/acts.ts';
import { runOf } from '../inbox/rules/bulks.ts';

/** The process of a bulk reports so often. */
export const HEARTBEAT_MS = 2_000;
/** A machine may just have woken, or its clock have been set: a living process reports within this time. */
const LOOK_AGAIN_MS = 1.5 * HEARTBEAT_MS;

/** Of each inbox the bulks whose silence lasts, with their last heartbeats. */
const lasting = new WeakMap<object, Map<number, number>>();

/** A bulk right after an action on it. */
export function shownBulk({ heartbeat, ...bulk }: StoredBulk): Bulk {
  const run = runOf({ ...bulk, heartbeat });
  return { ...bulk, stopped: run === 'reported' ? run : null };
}

/**
 * Bulks as they are now. Checks twice, a heartbeat apart, before it calls one silent, because a clock may have jumped; one that
 * was found silent before is not checked again.
 */
export async function judgedBulks(inbox: object, read: () => Promise<readonly StoredBulk[]>): Promise<readonly Bulk[]> {
  const known = lasting.get(inbox) ?? new Map<number, number>();
  lasting.set(inbox, known);
  const isKnown = ({ id, heartbeat }: StoredBulk): boolean => heartbeat !== null && known.get(id) === heartbeat.ms;
  let bulks = await read();
  const doubtful = bulks.filter((bulk) => runOf(bulk) === 'silent' && !isKnown(bulk));
  if (doubtful.length > 0) {
    await sleep(LOOK_AGAIN_MS);
    bulks = await read();
    for (const { id, heartbeat } of doubtful) {
      const now = bulks.find((bulk) => bulk.id === id)?.heartbeat?.ms;
      if (heartbeat !== null && now === heartbeat.ms) known.set(id, now);
    }
  }
  return bulks.map((bulk) =>
    runOf(bulk) === 'silent' && isKnown(bulk) ? { ...shownBulk(bulk), stopped: 'silent' } : shownBulk(bulk),
  );
}
