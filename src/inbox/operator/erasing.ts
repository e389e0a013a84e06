import { ConfigurationError } from '../../errors.ts';
import { turn } from '../../host/real-timers.ts';
import { entityTerm } from '../rules/entity-terms.ts';
import { ErasedNames, planErase, printOf, type EventAbout } from '../rules/erasing.ts';
import { authorOf, type By } from './acts.ts';
import { noteLine } from './audit.ts';
import { eraseSome, readAbout } from './erased-events.ts';
import { byTables, changeAgain, type OperatorTables } from './sql.ts';

/** The result of {@link eraseEntity}. */
export interface EraseReport {
  /**
   * The number of erased events, including pending events, and events of other entities whose conflicting bodies were
   * about this entity.
   */
  readonly erased: number;
  /** The number of events whose handlers are running. Call `eraseEntity` again when they have finished. */
  readonly inProcessing: number;
  /**
   * The `seq` of the audit line, which has only a hash of the entity's name. `null` for a dry run, or if nothing was
   * begun.
   */
  readonly audit: number | null;
  /**
   * Whether the write-ahead log was emptied. If `false`, another process was reading the log: call `eraseEntity` again
   * or wait for a later checkpoint. A dry run empties the log only if it finds no events. `null` on Postgres, where
   * VACUUM removes the rows, and settings determine how long logs, standbys and archives keep the data.
   */
  readonly logEmptied: boolean | null;
}

/** {@link eraseEntity} first indexes new events, then examines events, and then erases them. */
export type EraseProgress =
  | { readonly step: 'indexing'; readonly left: number }
  | { readonly step: 'looking'; readonly examined: number; readonly found: number }
  | { readonly step: 'erasing'; readonly worked: number; readonly total: number };

/** The options of {@link eraseEntity}. */
export interface EraseOptions {
  /**
   * With `true`, hookbox only counts the events.
   *
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
  /** Stops after the current batch; the report has the numbers so far. To continue, call `eraseEntity` again. */
  readonly signal?: AbortSignal;
  /** Called with the progress. */
  readonly onProgress?: (progress: EraseProgress) => void;
}

export interface Erasure {
  /** Erases all data about an entity. It finds only indexed events, so call `indexNew` first. */
  erase(entity: string, by: By, options: EraseOptions): Promise<EraseReport>;
}

export interface ErasingEngine {
  /** Whether a later action has a higher number. */
  readonly notesInOrder: boolean;
  emptyLog(): Promise<boolean | null>;
}

/** A page is read between two deliveries. */
const PAGE = 100;
/** Each body may have a mebibyte. */
const CONFLICTS = 2;

export function erasing(tables: OperatorTables, engine: ErasingEngine): Erasure {
  return {
    async erase(entity, operator, { dryRun = false, signal, onProgress }) {
      if (typeof entity !== 'string' || entity === '') {
        throw new ConfigurationError(
          'INVALID_OPTION',
          'entity must be the name of the entity to erase, such as order:mer_7:ord_42.',
        );
      }
      const isAborted = (): boolean => signal?.aborted === true;
      const author = authorOf(operator);
      const names = new ErasedNames();
      names.addEntity(entity);
      const found: EventAbout[] = [];
      let examined = 0;
      for (const { whole, seqsBehind } of searchesAbout(tables, entity)) {
        for (let behind: number | undefined = 0; behind !== undefined && !isAborted();) {
          const seqs: readonly number[] = await seqsBehind(behind);
          const page = seqs.length === 0 ? [] : await readAbout(tables, seqs, entity);
          const events = page.filter((event) => event.whole === whole);
          found.push(...events);
          if (whole) for (const event of events) names.addNamesOf(event, entity);
          examined += seqs.length;
          if (seqs.length > 0) onProgress?.({ step: 'looking', examined, found: found.length });
          behind = seqs.at(-1);
          await turn();
        }
      }
      if (dryRun) {
        // An earlier erasure may have left data in the log.
        const logEmptied = found.length === 0 && (await engine.emptyLog());
        const { erased, inProcessing } = planErase(found);
        return { erased, inProcessing, audit: null, logEmptied };
      }
      const done = { erased: 0, inProcessing: 0 };
      if (isAborted()) return { ...done, audit: null, logEmptied: false };

      const by = byTables({ ...author, reason: names.hideInReason(author.reason) });
      const audit = await noteLine(tables, 'erase', by, { entity: printOf(entity) }, done);
      // After a crash, the erased events could not tell which ids to hide.
      const hiddenUpTo = await hideInActs(tables, names);
      for (let at = 0; at < found.length && !isAborted();) {
        const seqs = found.slice(at, at + tables.bounds.erasedEvents).map(({ seq }) => seq);
        const batch = await eraseSome(tables, seqs, { entity, audit, author });
        at += batch.worked;
        done.erased += batch.erased;
        done.inProcessing += batch.inProcessing;
        onProgress?.({ step: 'erasing', worked: at, total: found.length });
      }
      await forgetEntity(tables, entity);
      // Operators may have acted since.
      await hideInActs(tables, names, engine.notesInOrder ? hiddenUpTo : []);
      tables.notify();
      return { ...done, audit, logEmptied: await engine.emptyLog() };
    },
  };
}

async function forgetEntity(tables: OperatorTables, entity: string): Promise<void> {
  const { t, toKey } = tables.dialect;
  await changeAgain(tables, { text: `DELETE FROM ${t.entities} WHERE entity = $1`, values: [toKey(entity)] });
}

/** No index contains conflicting bodies, but they are few. */
function searchesAbout(tables: OperatorTables, entity: string) {
  const { t, toKey } = tables.dialect;
  const withTerm = `SELECT seq FROM ${t.terms} WHERE seq > $1 AND term = $2 ORDER BY seq LIMIT ${PAGE}`;
  const withConflict = `SELECT seq FROM ${t.conflicts} WHERE seq > $1 ORDER BY seq LIMIT ${CONFLICTS}`;
  const read = async (text: string, values: readonly unknown[]): Promise<readonly number[]> => {
    const found = await tables.read(({ rows }) => rows<{ seq: number }>({ text, values }));
    return found.map(({ seq }) => seq);
  };
  return [
    { whole: true, seqsBehind: (behind: number) => read(withTerm, [behind, toKey(entityTerm(entity))]) },
    { whole: false, seqsBehind: (behind: number) => read(withConflict, [behind]) },
  ];
}

const KEPT = [
  { table: 'audit', key: 'seq' },
  { table: 'bulks', key: 'id' },
] as const;

/** Texts of operators, in small tables. */
const NOTES = [
  { table: 'pauses', keys: ['endpoint', 'type'], texts: ['reason'] },
  { table: 'acknowledged', keys: ['print'], texts: ['reason', 'link'] },
] as const;

interface KeptAct {
  readonly key: number;
  readonly filter: string;
  readonly reason: string | null;
}

/**
 * @param from - the end of an earlier pass in each table
 * @returns the end of this pass in each table
 */
async function hideInActs(
  tables: OperatorTables,
  names: ErasedNames,
  from: readonly number[] = [],
): Promise<readonly number[]> {
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
      const changed = page.flatMap((act) => {
        const filter = JSON.stringify(names.hideInAll(JSON.parse(act.filter)));
        const reason = names.hideInReason(act.reason);
        return filter === act.filter && reason === act.reason ? [] : [{ key: act.key, filter, reason }];
      });
      // Lets deliveries have a turn.
      if (changed.length === 0) await turn();
      else await changeAgain(tables, { text: write, values: columns(changed, ['key', 'filter', 'reason']) });
      behind = page.at(-1)?.key ?? behind;
      if (page.length < PAGE) break;
    }
    ends.push(behind);
  }
  for (const notes of NOTES) await hideInNotes(tables, names, notes);
  return ends;
}

async function hideInNotes(
  tables: OperatorTables,
  names: ErasedNames,
  { table, keys, texts }: (typeof NOTES)[number],
): Promise<void> {
  const { t, anyOf, given, forUpdate } = tables.dialect;
  const all = [...keys, ...texts];
  const isNoted = texts.map((column) => `${column} IS NOT NULL`).join(' OR ');
  const read = `SELECT ${all.join(', ')} FROM ${t[table]} WHERE ${isNoted} ${forUpdate}`;
  const write = `
    UPDATE ${t[table]} AS noted SET ${texts.map((column) => `${column} = given.${column}`).join(', ')}
    FROM ${given(Object.fromEntries(all.map((column) => [column, 'text'])))}
    WHERE ${anyOf(`noted.${keys[0]}`, '$1', 'text')}
      AND ${keys.map((column) => `noted.${column} = given.${column}`).join(' AND ')}`;
  await tables.change(
    async (tx) => {
      const noted = await tx.rows<Readonly<Record<string, string | null>>>({ text: read });
      const changed = noted.flatMap((row) => {
        const hidden = texts.map((column) => [column, names.hideInReason(row[column] ?? null)] as const);
        return hidden.every(([column, text]) => text === row[column])
          ? []
          : [{ ...row, ...Object.fromEntries(hidden) }];
      });
      tx.later({ text: write, values: columns<Readonly<Record<string, string | null>>>(changed, all) });
    },
    { isRepeatable: true },
  );
}

function columns<Row>(rows: readonly Row[], names: readonly (keyof Row)[]): readonly unknown[] {
  return names.map((name) => rows.map((row) => row[name]));
}
