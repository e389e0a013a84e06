import { type LATE, startDeadline, withinDeadline } from '../../../host/host-limits.ts';

export { LATE } from '../../../host/host-limits.ts';

/** What a delivery, a claim or the end of an attempt waits for is answered in this time, or nobody will answer it any more. */
export const ANSWER_MS = 10_000;
/** What operators ask for may have to go through millions of rows. */
export const OPERATORS_MS = 120_000;
/** A migration may build an index on all that was ever stored. */
export const MIGRATION_MS = 3_600_000;

/** What is asked of Postgres, or `LATE`. A connection that has gone silent tells nobody: only the time does. */
export async function answerOf<T>(asked: Promise<T>, withinMs: number): Promise<T | typeof LATE> {
  const deadline = startDeadline(withinMs);
  try {
    return await withinDeadline(asked, deadline);
  } finally {
    deadline.met();
  }
}
