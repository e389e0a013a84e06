import type { DeadGroup, EventSummary } from '../../../operator/search.ts';
import { COUNTED_GROUPS, largestOf, type CountedGroup } from '../../../rules/dead-groups.ts';
import { gaugeOf, MOST_COUNTED } from '../../../rules/gauges.ts';
import type { Session } from '../../driver/session.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Store } from '../../store.ts';
import { DEAD_WITH_BODIES, PRINT } from './dead-prints.ts';
import { summariesOf } from './summary.ts';

/** So many are counted by one statement: no other of the server waits for its processor for long. */
const COUNTED_AT_ONCE = 100;

/** The largest groups of dead events. */
export async function deadGroups(store: Store): Promise<readonly DeadGroup[]> {
  const { database, t, time } = store;
  const prints = await database.read((session) => session.rows<{ print: string }>(selectPrints(t)));
  const counted: CountedGroup[] = [];
  for (let at = 0; at < prints.length; at += COUNTED_AT_ONCE) {
    const some = prints.slice(at, at + COUNTED_AT_ONCE).map(({ print }) => print);
    counted.push(...(await database.read((session) => session.rows<CountedGroup>(countPrints(t), [some]))));
  }
  return database.read(async (session) => {
    await time.follow(session);
    return shown(session, store, largestOf(counted));
  });
}

/** One step through the index for each group, however many events it has. */
function selectPrints(t: Tables): string {
  const next = (after: string): string =>
    `SELECT ${PRINT} AS print FROM ${t.shelf} WHERE ${DEAD_WITH_BODIES} AND ${PRINT} > ${after} ORDER BY ${PRINT} LIMIT 1`;
  return `
    WITH RECURSIVE prints AS (
      (${next("''")})
      UNION ALL
      SELECT next.print FROM prints CROSS JOIN LATERAL (${next('prints.print')}) AS next
    )
    SELECT print FROM prints LIMIT ${COUNTED_GROUPS}`;
}

function countPrints(t: Tables): string {
  return `
    SELECT given.print, counted.count, counted.last FROM unnest($1::text[]) AS given (print) CROSS JOIN LATERAL (
      SELECT count(*) AS count, coalesce(max(seq), 0) AS last FROM (
        SELECT seq FROM ${t.shelf} WHERE ${DEAD_WITH_BODIES} AND ${PRINT} = given.print
        ORDER BY ${PRINT} DESC, seq DESC LIMIT ${MOST_COUNTED}
      ) AS newest
    ) AS counted`;
}

interface EndsRow {
  readonly print: string;
  readonly newest: number;
  readonly oldest: number;
}

/** Without those whose events were rerun meanwhile. */
async function shown(session: Session, store: Store, groups: readonly CountedGroup[]): Promise<readonly DeadGroup[]> {
  const end = (order: 'ASC' | 'DESC'): string => `LATERAL (
      SELECT seq FROM ${store.t.shelf} WHERE ${DEAD_WITH_BODIES} AND ${PRINT} = given.print ORDER BY seq ${order} LIMIT 1
    )`;
  const ends = await session.rows<EndsRow>(
    `SELECT given.print, newest.seq AS newest, oldest.seq AS oldest FROM unnest($1::text[]) AS given (print)
     CROSS JOIN ${end('DESC')} AS newest CROSS JOIN ${end('ASC')} AS oldest`,
    [groups.map(({ print }) => print)],
  );
  const byPrint = new Map(ends.map((row) => [row.print, row]));
  const seqs = [...new Set(ends.flatMap(({ newest, oldest }) => [newest, oldest]))];
  const summaries = new Map((await summariesOf(session, store, seqs)).map((summary) => [summary.seq, summary]));
  return groups.flatMap(({ print, count }) => {
    const found = byPrint.get(print);
    const newest = found && summaries.get(found.newest);
    const oldest = found && summaries.get(found.oldest);
    return newest === undefined || oldest === undefined ? [] : groupOf(count, newest, oldest);
  });
}

function groupOf(count: number, newest: EventSummary, oldest: EventSummary): readonly DeadGroup[] {
  const { fingerprint, deadReason: reason, lastError: sample } = newest;
  if (fingerprint === null || reason === null) return [];
  return [{ fingerprint, reason, sample, ...gaugeOf(count), newest, oldest }];
}
