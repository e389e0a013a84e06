import { gaugeOf, MOST_COUNTED } from '../rules/counted.ts';
import { COUNTED_GROUPS, largestOf, type CountedGroup } from '../rules/error-groups.ts';
import type { DeadGroup, Search } from './search.ts';
import type { Dialect, OperatorTables } from './sql.ts';
import { summariesOf } from './summaries.ts';
import { SlicedWork } from './turns.ts';

interface EndsRow {
  readonly print: string;
  readonly newest: number | null;
  readonly oldest: number | null;
}

/** @param limits - the number of groups that one statement counts, or shows */
export function deadGroups(
  tables: OperatorTables,
  limits: { readonly counted: number; readonly shown: number },
): Pick<Search, 'deadGroups'> {
  const { dialect } = tables;
  const statements = statementsOf(dialect);
  return {
    deadGroups: ({ signal } = {}) =>
      tables.inSteps(async (read) => {
        const work = await SlicedWork.begin(signal);
        const prints = await read(({ rows }) => rows<{ print: string }>({ text: statements.prints }));
        const groups: CountedGroup[] = [];
        for (let at = 0; at < prints.length; at += limits.counted) {
          if (work.isOver) await work.rest();
          const values = [prints.slice(at, at + limits.counted).map(({ print }) => print)];
          groups.push(...(await read(({ rows }) => rows<CountedGroup>({ text: statements.counts, values }))));
        }
        const found: DeadGroup[] = [];
        const largest = largestOf(groups);
        for (let at = 0; at < largest.length; at += limits.shown) {
          if (work.isOver) await work.rest();
          const some = largest.slice(at, at + limits.shown);
          const values = [some.map(({ print }) => print)];
          const shown = await read(async (reader) => {
            const ends = await reader.rows<EndsRow>({ text: statements.ends, values });
            const seqs = new Set(ends.flatMap(({ newest, oldest }) => [newest, oldest]).filter((seq) => seq !== null));
            const summaries = await summariesOf(reader, dialect, [...seqs]);
            const bySeq = new Map(summaries.map((summary) => [summary.seq, summary]));
            const byPrint = new Map(ends.map((row) => [row.print, row]));
            return some.flatMap(({ print, count }): readonly DeadGroup[] => {
              const newest = bySeq.get(byPrint.get(print)?.newest ?? 0);
              const oldest = bySeq.get(byPrint.get(print)?.oldest ?? 0);
              // The events of a group may have been rerun meanwhile.
              if (newest === undefined || oldest === undefined) return [];
              const { fingerprint, deadReason: reason, lastError: sample } = newest;
              if (fingerprint === null || reason === null) return [];
              return [{ fingerprint, reason, sample, ...gaugeOf(count), newest, oldest }];
            });
          });
          found.push(...shown);
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
    /** One step through the index for each group. */
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
