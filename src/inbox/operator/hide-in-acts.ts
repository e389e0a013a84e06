import { turn } from '../../host/real-timers.ts';
import type { ErasedNames } from '../rules/erased-names.ts';
import type { EndpointType } from '../rules/pauses.ts';
import type { OperatorTables } from './sql.ts';

/** Few enough to be read between two deliveries. */
const PAGE = 100;

/** Where operators' actions are kept with what they were about. */
const KEPT = [
  { table: 'audit', key: 'seq' },
  { table: 'bulks', key: 'id' },
] as const;

interface KeptAct {
  readonly key: number;
  /** JSON */
  readonly filter: string;
  readonly reason: string | null;
}

interface PauseReason extends EndpointType {
  readonly reason: string;
}

/** How far `hideInActs` has come in each table. */
export type HiddenUpTo = readonly number[];

/**
 * Replaces erased names in what is kept of operators' actions.
 *
 * @param from - where an earlier pass has ended
 * @returns where this one has ended
 */
export async function hideInActs(
  tables: OperatorTables,
  names: ErasedNames,
  from: HiddenUpTo = [],
): Promise<HiddenUpTo> {
  const { t, anyOf, given } = tables.dialect;
  const ends: number[] = [];
  for (const [at, { table, key }] of KEPT.entries()) {
    const read = `SELECT ${key} AS key, filter, reason FROM ${t[table]} WHERE ${key} > $1 ORDER BY ${key} LIMIT ${PAGE}`;
    const write = `
      UPDATE ${t[table]} AS kept SET filter = given.filter, reason = given.reason
      FROM ${given({ key: 'bigint', filter: 'text', reason: 'text' })}
      WHERE ${anyOf(`kept.${key}`, '$1', 'bigint')} AND kept.${key} = given.key`;
    let behind = from[at] ?? 0;
    for (;;) {
      const page = await tables.read(({ rows }) => rows<KeptAct>({ text: read, values: [behind] }));
      const changed = page.flatMap((act) => hidden(act, names));
      const values = [
        changed.map((act) => act.key),
        changed.map((act) => act.filter),
        changed.map((act) => act.reason),
      ];
      const save = [{ text: write, values }];
      // Deliveries have their turn in any case.
      if (changed.length === 0) await turn();
      else await tables.change({ isRepeatable: true, plan: () => ({ save, result: () => {} }) });
      behind = page.at(-1)?.key ?? behind;
      if (page.length < PAGE) break;
    }
    ends.push(behind);
  }
  await hideInPauses(tables, names);
  return ends;
}

/** None when nothing had to be hidden. */
function hidden({ key, ...act }: KeptAct, names: ErasedNames): KeptAct[] {
  const filter = JSON.stringify(names.hideInAll(JSON.parse(act.filter)));
  const reason = names.hideInReason(act.reason);
  return filter === act.filter && reason === act.reason ? [] : [{ key, filter, reason }];
}

/** Pauses are few. */
async function hideInPauses(tables: OperatorTables, names: ErasedNames): Promise<void> {
  const { t, anyOf, given, forUpdate } = tables.dialect;
  const read = `SELECT endpoint, type, reason FROM ${t.pauses} WHERE reason IS NOT NULL ${forUpdate}`;
  const write = `
    UPDATE ${t.pauses} AS paused SET reason = given.reason
    FROM ${given({ endpoint: 'text', type: 'text', reason: 'text' })}
    WHERE ${anyOf('paused.endpoint', '$1', 'text')} AND paused.endpoint = given.endpoint AND paused.type = given.type`;
  await tables.change({
    isRepeatable: true,
    load: () => [{ text: read }],
    plan([pauses = []]: readonly (readonly PauseReason[])[]) {
      const changed = pauses
        .map((pause) => ({ ...pause, hidden: names.hideIn(pause.reason) }))
        .filter((pause) => pause.hidden !== pause.reason);
      const values = [
        changed.map(({ endpoint }) => endpoint),
        changed.map(({ type }) => type),
        changed.map(({ hidden }) => hidden),
      ];
      return { save: changed.length === 0 ? [] : [{ text: write, values }], result: () => {} };
    },
  });
}
