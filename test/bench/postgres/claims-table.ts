import { postgresInbox } from 'hookbox/postgres';
import { Pool } from 'pg';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { claimAfresh, manyBehind } from '../../inbox/postgres/many-behind.ts';
import { plantProcessed } from '../../inbox/postgres/planted.ts';
import type { Bench } from '../bench.ts';
import { atMost } from '../goals.ts';
import { table, whole } from '../markdown.ts';
import { cells, undisturbed } from '../marks.ts';
import { median, percentile } from '../median.ts';
import type { Section } from '../table.ts';
import type { BenchServer } from './bench-server.ts';

const WAITING = 10_000;
const CLAIMED = 10;
/** Claims for each round of what takes milliseconds. */
const TIMES = 10;

interface Claims {
  readonly emptyMs: readonly number[];
  readonly fullMs: readonly number[];
}

/** How long it takes to claim, with nothing beside and with a lot. */
export async function claimsTable(bench: Bench, server: BenchServer): Promise<Section> {
  const { events, quickRounds } = bench.options;
  const { value, disturbed } = await server.withDatabase((empty) =>
    server.withDatabase(async (full) => {
      bench.progress(`planting ${whole(events)} processed events`);
      await fill(full, events);
      return bench.disturbance.alone(() => measure(empty, full, quickRounds * TIMES));
    }),
  );
  const line = (title: string, ms: readonly number[]): readonly string[] => [
    title,
    ...cells(bench, { disturbed, fault: null }, [
      median(ms).toFixed(2),
      percentile(ms, 0.99).toFixed(2),
      (median(ms) / median(value.emptyMs)).toFixed(2),
    ]),
  ];
  const title = `${whole(events)} processed, ${whole(WAITING)} behind one that fails`;
  return {
    text: [
      '#### Claims',
      `Claiming ${CLAIMED} new events at once, in turns on both databases: milliseconds.`,
      table(
        ['In the database', 'median', 'p99', 'of the empty one'],
        [line('nothing', value.emptyMs), line(title, value.fullMs)],
      ),
    ].join('\n\n'),
    goals: [
      atMost(
        `Postgres, a claim with ${title}, of one on an empty database`,
        { wanted: 2 },
        undisturbed(bench, disturbed, median(value.fullMs) / median(value.emptyMs)),
      ),
    ],
    disturbed,
    data: value,
  };
}

async function fill(url: string, events: number): Promise<void> {
  const pool = new Pool({ connectionString: url });
  await using inbox = postgresInbox({ pool }, { listen: false });
  await inbox.list(); // the tables are there
  await plantProcessed(pool, tablesIn('hookbox'), events, Date.now());
  await manyBehind(inbox, WAITING, Date.now());
  await pool.query('CHECKPOINT');
  await inbox.close();
  await pool.end();
}

async function measure(empty: string, full: string, claims: number): Promise<Claims> {
  await using emptyInbox = postgresInbox(empty, { listen: false });
  await using fullInbox = postgresInbox(full, { listen: false });
  const emptyMs: number[] = [];
  const fullMs: number[] = [];
  for (let round = -TIMES; round < claims; round += 1) {
    for (const [inbox, times] of [
      [emptyInbox, emptyMs],
      [fullInbox, fullMs],
    ] as const) {
      const names = Array.from({ length: CLAIMED }, (_, n) => `round_${round}_${n}`);
      await claimAfresh(inbox, names, Date.now(), async (claim) => {
        const startedAt = performance.now();
        const claimed = await claim();
        if (round >= 0) times.push(performance.now() - startedAt); // compiled, and prepared
        return claimed;
      });
    }
  }
  return { emptyMs, fullMs };
}
