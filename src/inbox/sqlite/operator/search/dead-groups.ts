import type { DeadGroup } from '../../../operator/search.ts';
import { SlicedWork } from '../../../operator/turns.ts';
import { COUNTED_GROUPS, largestOf, type CountedGroup } from '../../../rules/dead-groups.ts';
import { gaugeOf, MOST_COUNTED } from '../../../rules/gauges.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { DEAD, PRINT } from './dead-prints.ts';
import { SUMMARY_COLUMNS, summaryOf, type SummaryRow } from './summary.ts';

/** One step through the index for each group, however many events it has. */
const PRINTS = `
  WITH RECURSIVE prints (print) AS (
    VALUES ('')
    UNION ALL
    SELECT (SELECT ${PRINT} FROM ${DEAD} AND ${PRINT} > prints.print ORDER BY ${PRINT} LIMIT 1)
    FROM prints WHERE prints.print IS NOT NULL
  )
  SELECT print FROM prints WHERE print > '' LIMIT ${COUNTED_GROUPS}`;

/** The largest groups of dead events. Deliveries are taken in while they are counted. */
export async function deadGroups(access: Access, signal: AbortSignal | undefined): Promise<readonly DeadGroup[]> {
  const work = await SlicedWork.begin(signal);
  const prints = statement(access.database(), PRINTS).all() as readonly { print: string }[];
  const counted: CountedGroup[] = [];
  for (const { print } of prints) {
    if (work.isOver) await work.rest();
    counted.push({ print, ...countOf(access.database(), print) });
  }
  const groups: DeadGroup[] = [];
  for (const { print, count } of largestOf(counted)) {
    if (work.isOver) await work.rest();
    const group = groupOf(access.database(), print, count);
    if (group !== null) groups.push(group);
  }
  return groups;
}

function countOf(database: SqliteDatabase, print: string): Pick<CountedGroup, 'count' | 'last'> {
  const sql = `
    SELECT count(*) AS count, ifnull(max(seq), 0) AS last
    FROM (SELECT seq FROM ${DEAD} AND ${PRINT} = +:print ORDER BY seq DESC LIMIT ${MOST_COUNTED})`;
  return statement(database, sql).get({ print }) as Pick<CountedGroup, 'count' | 'last'>;
}

/** `null` when its events were rerun meanwhile. */
function groupOf(database: SqliteDatabase, print: string, count: number): DeadGroup | null {
  const newestRow = endOf(database, print, 'DESC');
  const oldestRow = endOf(database, print, 'ASC');
  if (newestRow === undefined || oldestRow === undefined || newestRow.dead_reason === null) return null;
  const newest = summaryOf(database, newestRow);
  return {
    fingerprint: print,
    reason: newestRow.dead_reason,
    sample: newest.lastError,
    ...gaugeOf(count),
    newest,
    oldest: summaryOf(database, oldestRow),
  };
}

function endOf(database: SqliteDatabase, print: string, order: 'ASC' | 'DESC'): SummaryRow | undefined {
  const sql = `
    SELECT ${SUMMARY_COLUMNS} FROM hookbox_events AS e
    WHERE e.seq = (SELECT seq FROM ${DEAD} AND ${PRINT} = +:print ORDER BY seq ${order} LIMIT 1)`;
  return statement(database, sql).get({ print }) as SummaryRow | undefined;
}
