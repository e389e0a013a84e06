import type { ActedRow } from '../rules/act-on-events.ts';
import type { DeadReason } from '../state.ts';
import type { Dialect, Statement } from './sql.ts';

/** The columns of an `ActedRow`. */
export interface ActedColumns extends Omit<ActedRow, 'deadReason' | 'dueMs' | 'pruned' | 'erased'> {
  readonly dead_reason: DeadReason | null;
  readonly due_ms: number | null;
  readonly pruned: unknown;
  readonly erased: unknown;
}

/** Selects `ActedColumns` of `events`, joined with its places. */
export function actedColumns({ stateToActOn, queued }: Dialect): string {
  return `
    events.seq, events.endpoint, events.id, events.type, events.entity, ${stateToActOn}, events.body IS NULL AS pruned,
    events.erased_ms IS NOT NULL AS erased, ${queued}.due_ms, coalesce(length(events.body), 0) AS bytes`;
}

export function actedRow({ dead_reason: deadReason, due_ms: dueMs, pruned, erased, ...row }: ActedColumns): ActedRow {
  return {
    ...row,
    deadReason,
    pruned: Boolean(pruned),
    erased: Boolean(erased),
    ...(dueMs !== null && { dueMs }),
  };
}

/** Finds events by their numbers, for `actedInOrder`. */
export function selectActed(dialect: Dialect, seqs: readonly number[]): Required<Statement> {
  const { t, event, anyOf } = dialect;
  const from = `${t.events} AS events ${event.joins} WHERE ${anyOf('events.seq', '$1', 'bigint')}`;
  return { text: `SELECT ${actedColumns(dialect)} FROM ${from}`, values: [seqs] };
}

/** @returns `null` where there is no event of this number */
export function actedInOrder(seqs: readonly number[], found: readonly unknown[]): readonly (ActedRow | null)[] {
  const rows = new Map((found as readonly ActedColumns[]).map((row) => [row.seq, actedRow(row)])); // of selectActed
  return seqs.map((seq) => rows.get(seq) ?? null);
}
