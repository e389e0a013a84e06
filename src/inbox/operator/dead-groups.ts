import { COUNTED_GROUPS, largestOf, type CountedGroup } from '../rules/error-groups.ts';
import { gaugeOf, MOST_COUNTED } from '../rules/counted.ts';
import type { DeadGroup, EventSummary, Search } from './search.ts';
import type { Dialect, OperatorTables, Reader } from './sql.ts';
import { summariesOf } from './summaries.ts';
import { SlicedWork } from './turns.ts';

/** How many groups one statement is about. */
export interface GroupsAtOnce {
  readonly counted: number;
  readonly shown: number;
}

interface EndsRow {
  readonly print: string;
  readonly newest: number | null;
  readonly oldest: number | null;
}

/** The groups of dead events, the largest first. */
export function deadGroups(tables: OperatorTables, { counted, shown }: GroupsAtOnce): Pick<Search, 'deadGroups'> {
  const { dialect } = tables;
  const statements = statementsOf(dialect);
  return {
    deadGroups: ({ signal } = {}) =>
      tables.inSteps(async (read) => {
        const work = await SlicedWork.begin(signal);
        const prints = await read(({ rows }) => rows<{ print: string }>({ text: statements.prints }));
        const groups: CountedGroup[] = [];
        for (const some of parts(prints, counted)) {
          if (work.isOver) await work.rest();
          const values = [some.map(({ print }) => print)];
          groups.push(...(await read(({ rows }) => rows<CountedGroup>({ text: statements.counts, values }))));
        }
        const found: DeadGroup[] = [];
        for (const some of parts(largestOf(groups), shown)) {
          if (work.isOver) await work.rest();
          found.push(...(await read((reader) => groupsOf(reader, dialect, statements.ends, some))));
        }
        signal?.throwIfAborted();
        return found;
      }, signal),
  };
}

function statementsOf({ dead: { from, print }, list }: Dialect) {
  const inGroup = (order: 'ASC' | 'DESC', most: number): string =>
    `SELECT seq FROM ${from} AND ${print} = value ORDER BY seq ${order} LIMIT ${most}`;
  const next = (after: string): string =>
    `(SELECT ${print} FROM ${from} AND ${print} > ${after} ORDER BY ${print} LIMIT 1)`;
  const given = list('$1', 'text');
  return {
    /** One step through the index for each group, however many events it has. */
    prints: `
      WITH RECURSIVE prints (print) AS (
        SELECT ${next("''")}
        UNION ALL
        SELECT ${next('prints.print')} FROM prints WHERE prints.print IS NOT NULL
      )
      SELECT print FROM prints WHERE print IS NOT NULL LIMIT ${COUNTED_GROUPS}`,
    counts: `
      SELECT value AS print, (SELECT count(*) FROM (${inGroup('DESC', MOST_COUNTED)}) AS counted) AS count,
        coalesce((${inGroup('DESC', 1)}), 0) AS last
      FROM ${given}`,
    ends: `SELECT value AS print, (${inGroup('DESC', 1)}) AS newest, (${inGroup('ASC', 1)}) AS oldest FROM ${given}`,
  };
}

/** Without those whose events were rerun meanwhile. */
async function groupsOf(
  reader: Reader,
  dialect: Dialect,
  text: string,
  groups: readonly CountedGroup[],
): Promise<readonly DeadGroup[]> {
  const ends = await reader.rows<EndsRow>({ text, values: [groups.map(({ print }) => print)] });
  const byPrint = new Map(ends.map((row) => [row.print, row]));
  const seqs = new Set(ends.flatMap(({ newest, oldest }) => [newest, oldest]).filter((seq) => seq !== null));
  const summaries = new Map((await summariesOf(reader, dialect, [...seqs])).map((summary) => [summary.seq, summary]));
  return groups.flatMap(({ print, count }) => {
    const found = byPrint.get(print);
    const newest = summaries.get(found?.newest ?? 0);
    const oldest = summaries.get(found?.oldest ?? 0);
    return newest === undefined || oldest === undefined ? [] : groupOf(count, newest, oldest);
  });
}

function groupOf(count: number, newest: EventSummary, oldest: EventSummary): readonly DeadGroup[] {
  const { fingerprint, deadReason: reason, lastError: sample } = newest;
  if (fingerprint === null || reason === null) return [];
  return [{ fingerprint, reason, sample, ...gaugeOf(count), newest, oldest }];
}

function* parts<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
