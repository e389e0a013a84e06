// @module-tag longest
/** A claim reads as many pages for any number of events that wait. */
import { Pool, type PoolClient } from 'pg';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { tableNames, tablesIn, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING, type ClaimRequest } from '../../../src/inbox/work.ts';
import { pauseType } from '../../../src/ops/pauses.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { times } from '../../helpers/times.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { claimAfresh, manyBehind, manyYielding } from './many-behind.ts';
import { plantProcessed } from './planted.ts';

const PROCESSED = times(1_000_000, 20_000);
const WAITING = times(10_000, 1_000);
const CLAIMS = 40;

let url: string;

beforeAll(async () => {
  url = await postgresUrl();
});

interface Beside {
  readonly inbox: Inbox<PoolClient>;
  readonly pool: Pool;
  readonly t: Tables;
}

interface Claimed {
  readonly request?: Partial<ClaimRequest>;
  /** each event has its own entity unless this is set */
  readonly entity?: string;
}

async function pagesOfClaims(
  prepare: (beside: Beside) => Promise<void>,
  { request = {}, entity }: Claimed = {},
): Promise<readonly number[]> {
  const schema = schemaName();
  const t = tablesIn(schema);
  const pool = new Pool({ connectionString: url, max: 1 });
  onTestFinished(async () => {
    await dropSchema(pool, schema);
    await pool.end();
  });
  await using inbox = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  await inbox.announce(EVERYTHING, START, null);
  // Vacuum reads whole tables, and its pages would count as the claim's, so it runs once before.
  for (const name of tableNames) await pool.query(`ALTER TABLE ${t[name]} SET (autovacuum_enabled = false)`);
  await prepare({ inbox, pool, t });
  for (const name of tableNames) await pool.query(`VACUUM ${t[name]}`);

  async function pages(): Promise<number> {
    await pool.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ pages: string }>(
      `SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)
         + coalesce(toast_blks_hit + toast_blks_read + tidx_blks_hit + tidx_blks_read, 0)) AS pages
       FROM pg_statio_all_tables WHERE schemaname = $1`,
      [schema],
    );
    return Number(rows[0]?.pages);
  }

  const found: number[] = [];
  for (let claim = 0; claim < CLAIMS; claim += 1) {
    const names = Array.from({ length: entity === undefined ? 10 : 1 }, (_, n) => `fresh_${claim}_${n}`);
    const how = { request, ...(entity !== undefined && { entity }) };
    await claimAfresh(
      inbox,
      names,
      START + 1_000_000 + claim,
      async (claim) => {
        const before = await pages();
        const claimed = await claim();
        found.push((await pages()) - before);
        return claimed;
      },
      how,
    );
  }
  return found.toSorted((a, b) => a - b);
}

/** An autovacuum may run during one claim, so the largest value does not count. */
function compared(
  what: string,
  none: readonly number[],
  many: readonly number[],
): readonly (readonly [none: number, many: number])[] {
  const at = (place: (pages: readonly number[]) => number): readonly [number, number] => {
    const [one = 0, other = 0] = [none, many].map((pages) => pages[place(pages)]);
    return [one, other];
  };
  const median = at(({ length }) => Math.floor((length - 1) / 2));
  const most = at(({ length }) => length - 2);
  console.info(`pages of a claim ${what}: median ${median.join(' and ')}, most ${most.join(' and ')}`);
  expect(Math.min(...none)).toBeGreaterThan(10); // otherwise nothing was counted
  return [median, most];
}

const NAME = `a claim beside ${PROCESSED} processed events, and ${WAITING} behind one that fails, reads at most twice what it reads beside none`;

it(NAME, { timeout: 600_000 }, async () => {
  const empty = await pagesOfClaims(async () => {});
  const full = await pagesOfClaims(async ({ inbox, pool, t }) => {
    await plantProcessed(pool, t, PROCESSED, START);
    await manyBehind(inbox, WAITING, START);
  });
  for (const [none, many] of compared('beside many', empty, full)) expect(many).toBeLessThanOrEqual(2 * none);
});

const LESS = 10;

/** Their type is not claimed, and they are due first. */
async function storeHeld(inbox: Inbox<PoolClient>, count: number): Promise<void> {
  const all = Array.from({ length: count }, (_, n) =>
    incoming({ id: `held_${n}`, type: 'held', entity: null, receivedAt: START - 1_000 }),
  );
  await Promise.all(all.map((event) => inbox.accept(event, later())));
  expect(await inbox.claim({ ...EVERYTHING, leaseMs: 1_000, ordered: true, now: START, room: { held: 0 } }, 1)).toEqual(
    [],
  );
}

it.each([
  ['paused', {}],
  ['full', { room: { held: 0 } }],
] as const)(
  `a claim beside ${WAITING} waiting events of a type that is %s reads at most twice what it reads beside ${LESS} of it`,
  { timeout: 600_000 },
  async (which, request) => {
    const beside = (count: number) =>
      pagesOfClaims(
        async ({ inbox }) => {
          if (which === 'paused') await pauseType(inbox, 'held', { actor: 'ada', now: START }, { unseen: true });
          await storeHeld(inbox, count);
        },
        { request },
      );
    for (const [few, many] of compared(which, await beside(LESS), await beside(WAITING))) {
      expect(many).toBeLessThanOrEqual(2 * few);
    }
  },
);

it(
  `a claim beside ${WAITING} events of its entity that have failed and yield reads at most twice what it reads beside ${LESS}`,
  { timeout: 600_000 },
  async () => {
    const beside = (count: number) =>
      pagesOfClaims(({ inbox }) => manyYielding(inbox, count, START), { entity: 'order::yields' });
    for (const [few, many] of compared('beside yielding ones', await beside(LESS), await beside(WAITING))) {
      expect(many).toBeLessThanOrEqual(2 * few);
    }
  },
);
