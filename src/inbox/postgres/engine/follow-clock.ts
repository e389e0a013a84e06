import { latestTime, setBackBy } from '../../rules/claim.ts';
import type { Scene } from './scene.ts';

/**
 * Moves back what was written before the clock was set back, if it was (see rules/claim.ts): where times are the database's, when
 * another machine has taken over whose clock is late. In one statement each and not in batches as on SQLite: nobody's event loop
 * stands still meanwhile, and whoever claims at the same time waits for the row of the clock.
 *
 * @returns that nothing is left to move
 */
export async function followClock({ session, t, moves }: Scene, now: number, leaseMs: number): Promise<false> {
  const clock = await session.row<{ latest_ms: number }>(`SELECT latest_ms FROM ${t.clock}`);
  if (setBackBy(clock?.latest_ms ?? 0, now) === 0) return false;
  const locked = await session.row<{ latest_ms: number }>(`SELECT latest_ms FROM ${t.clock} FOR UPDATE`);
  const back = setBackBy(locked?.latest_ms ?? 0, now);
  if (back === 0) return false; // somebody else has done it
  await session.run(moves.moveLeases, [back, now + leaseMs]);
  await session.run(moves.moveDue, [back, now]);
  for (const table of [t.handling, t.processors]) {
    await session.run(`UPDATE ${table} SET seen_ms = seen_ms - $1::bigint WHERE seen_ms > $2`, [back, now]);
  }
  await session.run(`UPDATE ${t.clock} SET latest_ms = $1`, [latestTime(0, now)]);
  return false;
}
