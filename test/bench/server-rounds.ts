import type { Bench } from './bench.ts';
import { whole } from './markdown.ts';
import { interleave, part, type Rounds } from './rounds.ts';
import type { Row } from './rows.ts';
import { withSession, type LoadFigures, type SessionOptions } from './session.ts';

/** What a busy shop gets, in deliveries a second. */
export const pacedRate = 1_000;

/** What each server did, round by round. */
export interface ServerRounds {
  /** as fast as it can, at the number of connections that the goals speak of */
  readonly full: ReadonlyMap<string, Rounds<LoadFigures>>;
  /** at a pace */
  readonly paced: ReadonlyMap<string, Rounds<LoadFigures>>;
}

export async function measureServers(
  rows: readonly Row[],
  bench: Bench,
  options: SessionOptions = {},
): Promise<ServerRounds> {
  const rounds = await interleave(
    bench,
    rows.map((row) => ({
      name: row.name,
      measure: () =>
        withSession(row, bench, options, async (session) => ({
          full: await session.load(),
          paced: await session.load({ requestsPerSecond: pacedRate }),
        })),
    })),
    bench.options.rounds,
    {
      describe: ({ full, paced }) =>
        `${whole(full.requestsPerSecond)} requests/s, loop delay p99 ${full.loopDelay.p99.toFixed(1)} ms, ` +
        `${paced.loopDelay.p99.toFixed(1)} ms at ${whole(paced.requestsPerSecond)}/s`,
      rateOf: ({ full }) => full.requestsPerSecond,
      loadsOf: ({ full, paced }) => [full, paced],
    },
  );
  return {
    full: new Map([...rounds].map(([name, own]) => [name, part(own, ({ full }) => full)])),
    paced: new Map([...rounds].map(([name, own]) => [name, part(own, ({ paced }) => paced)])),
  };
}
