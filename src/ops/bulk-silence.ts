import { delay as sleep } from '../host/real-timers.ts';
import type { Bulk, StoredBulk } from '../inbox/operator/acts.ts';
import { runOf } from '../inbox/rules/bulk-runs.ts';

/** Whoever runs a bulk is heard of so often. */
export const HEARD_EVERY_MS = 2_000;
/** The machine may just have woken, or its clock have been set: whoever lives is heard of within that. */
const LOOK_AGAIN_MS = 1.5 * HEARD_EVERY_MS;

/** Of each inbox the bulks whose silence was found to last, with when they were last heard of. */
const lasting = new WeakMap<object, Map<number, number>>();

/** As it is known to whoever has just done something to it. */
export function shownBulk({ heard, ...bulk }: StoredBulk): Bulk {
  const run = runOf({ ...bulk, heard });
  return { ...bulk, stopped: run === 'told' ? run : null };
}

/**
 * Bulks as they stand. A clock alone tells nobody for dead: what seems to have gone is looked at once more, after a moment
 * in which it would have been heard of. Where that was found before, it is not waited for again.
 */
export async function judgedBulks(inbox: object, read: () => Promise<readonly StoredBulk[]>): Promise<readonly Bulk[]> {
  const known = lasting.get(inbox) ?? new Map<number, number>();
  lasting.set(inbox, known);
  const isKnown = ({ id, heard }: StoredBulk): boolean => heard !== null && known.get(id) === heard.ms;
  let bulks = await read();
  const doubtful = bulks.filter((bulk) => runOf(bulk) === 'silent' && !isKnown(bulk));
  if (doubtful.length > 0) {
    await sleep(LOOK_AGAIN_MS);
    bulks = await read();
    for (const { id, heard } of doubtful) {
      const now = bulks.find((bulk) => bulk.id === id)?.heard?.ms;
      if (heard !== null && now === heard.ms) known.set(id, now);
    }
  }
  return bulks.map((bulk) =>
    runOf(bulk) === 'silent' && isKnown(bulk) ? { ...shownBulk(bulk), stopped: 'silent' } : shownBulk(bulk),
  );
}
