import { isOpen, type Acknowledgement } from '../rules/acknowledging.ts';
import { addNames, gaugeOf, MOST_COUNTED, recordOf, sumsOf } from '../rules/counted.ts';
import { COUNTED_GROUPS, largestOf, type CountedGroup } from '../rules/error-groups.ts';
import { acknowledgementOf, selectAcknowledged, type AcknowledgedRow } from './acknowledging.ts';
import type { DeadGroup, Search } from './search.ts';
import type { Dialect, OperatorTables, Reader } from './sql.ts';
import { summariesOf } from './summaries.ts';
import { SlicedWork } from './turns.ts';

interface EndsRow {
  readonly print: string;
  readonly newest: number | null;
  readonly oldest: number | null;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  readonly types: string;
}

interface StepRow {
  readonly print: string;
  readonly at: number;
  readonly count: number;
}

const HOURS = 24;
const HOUR_MS = 3_600_000;
const MOST_AN_HOUR = 1_000;
const TYPES_LOOKED_AT = 100;

/** @param limits - the number of groups that one statement counts, or shows */
export function deadGroups(
  tables: OperatorTables,
  limits: { readonly counted: number; readonly shown: number },
): Pick<Search, 'deadGroups'> {
  const { dialect } = tables;
  const statements = statementsOf(dialect);

  async function shownGroups(
    reader: Reader,
    some: readonly CountedGroup[],
    acknowledged: ReadonlyMap<string, Acknowledgement>,
    now: number,
  ): Promise<readonly DeadGroup[]> {
    const given = some.map(({ print }) => print);
    const ends = await reader.rows<EndsRow>({ text: statements.ends, values: [given] });
    const seqs = new Set(ends.flatMap(({ newest, oldest }) => [newest, oldest]).filter((seq) => seq !== null));
    const summaries = await summariesOf(reader, dialect, [...seqs]);
    const bySeq = new Map(summaries.map((summary) => [summary.seq, summary]));
    const byPrint = new Map(ends.map((row) => [row.print, row]));
    const from = reader.toDatabase(now) - HOURS * HOUR_MS;
    const hours = Array.from({ length: HOURS }, (_, hour) => from + hour * HOUR_MS);
    const lately = ends.filter(({ lastMs }) => lastMs !== null && lastMs > from).map(({ print }) => print);
    const steps =
      lately.length === 0 ? [] : await reader.rows<StepRow>({ text: statements.steps, values: [lately, hours] });
    const stepsOf = Map.groupBy(steps, ({ print }) => print);
    return some.flatMap(({ print, count, isOpen: open = true }): readonly DeadGroup[] => {
      const row = byPrint.get(print);
      const newest = bySeq.get(row?.newest ?? 0);
      const oldest = bySeq.get(row?.oldest ?? 0);
      // The events of a group may have been rerun since.
      if (row === undefined || newest === undefined || oldest === undefined) return [];
      const { fingerprint, deadReason: reason, lastError: sample } = newest;
      if (fingerprint === null || reason === null) return [];
      const [firstDeadAt, lastDeadAt] = [row.firstMs, row.lastMs].map((ms) => new Date(reader.toCaller(ms ?? 0)));
      if (firstDeadAt === undefined || lastDeadAt === undefined) return [];
      const counts = new Map(stepsOf.get(print)?.map((step) => [step.at, step.count]));
      const recent = hours.map((at) => counts.get(at) ?? 0);
      const ends = { newest, oldest, firstDeadAt, lastDeadAt };
      const types = typesIn(dialect.fromJson(row.types));
      const known = acknowledged.get(print) ?? null;
      return [{ fingerprint, reason, sample, ...gaugeOf(count), ...ends, recent, types, open, acknowledged: known }];
    });
  }

  return {
    deadGroups: ({ signal, now = Date.now() } = {}) =>
      tables.inSteps(async (read) => {
        const work = await SlicedWork.begin(signal);
        const prints = await read(({ rows }) => rows<{ print: string }>({ text: statements.prints }));
        const groups: CountedGroup[] = [];
        for (let at = 0; at < prints.length; at += limits.counted) {
          if (work.isOver) await work.rest();
          const values = [prints.slice(at, at + limits.counted).map(({ print }) => print)];
          groups.push(...(await read(({ rows }) => rows<CountedGroup>({ text: statements.counts, values }))));
        }
        const acknowledged = await read(async ({ rows, ...clock }) => {
          const values = [prints.map(({ print }) => print)];
          const found = await rows<AcknowledgedRow>({ text: selectAcknowledged(dialect), values });
          return new Map(found.map((row) => [row.print, { ...row, as: acknowledgementOf(row, clock) }]));
        });
        const judged = groups.map((group) => {
          const known = acknowledged.get(group.print);
          if (known === undefined) return group;
          return { ...group, isOpen: isOpen({ count: group.count, lastMs: known.newestMs ?? 0 }, known) };
        });
        const known = new Map(Array.from(acknowledged, ([print, { as }]) => [print, as]));
        const found: DeadGroup[] = [];
        const largest = largestOf(judged);
        for (let at = 0; at < largest.length; at += limits.shown) {
          if (work.isOver) await work.rest();
          const some = largest.slice(at, at + limits.shown);
          found.push(...(await read((reader) => shownGroups(reader, some, known, now))));
        }
        signal?.throwIfAborted();
        return found;
      }, signal),
  };
}

function typesIn(types: unknown): DeadGroup['types'] {
  const names = (types as readonly (string | null)[] | null) ?? []; // of `ends`
  return recordOf(addNames(sumsOf(), ...names.map((type) => type ?? 'invalid')));
}

function statementsOf({ dead: { from, inTime, print }, list, jsonList }: Dialect) {
  const inGroup = (order: 'ASC' | 'DESC', most: number): string =>
    `SELECT seq FROM ${from} AND ${print} = value ORDER BY seq ${order} LIMIT ${most}`;
  const died = (column: string, order: 'ASC' | 'DESC', most: number): string =>
    `SELECT ${column} FROM ${inTime} AND ${print} = value ORDER BY settled_ms ${order} LIMIT ${most}`;
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
    ends: `
      SELECT value AS print, (${inGroup('DESC', 1)}) AS newest, (${inGroup('ASC', 1)}) AS oldest,
        (${died('settled_ms', 'ASC', 1)}) AS "firstMs", (${died('settled_ms', 'DESC', 1)}) AS "lastMs",
        (SELECT ${jsonList}(type) FROM (${died('type', 'DESC', TYPES_LOOKED_AT)}) AS latest) AS types
      FROM ${given}`,
    steps: `
      SELECT print, at, (SELECT count(*) FROM (
        SELECT 1 FROM ${inTime} AND ${print} = groups.print AND settled_ms > at AND settled_ms <= at + ${HOUR_MS}
        LIMIT ${MOST_AN_HOUR}
      ) AS counted) AS count
      FROM (SELECT value AS print FROM ${given}) AS groups
        CROSS JOIN (SELECT value AS at FROM ${list('$2', 'bigint')}) AS hours`,
  };
}
