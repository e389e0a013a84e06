import { assertOption, assertOptions, whole, oneOf, type OptionRule } from '../option-rules.ts';
import { OUTAGES, type OutageStatus } from './errors.ts';
import { insert, type Reading, type Transaction } from './store.ts';
import { OPERATION_NAMES, type OperationName } from './service-operations.ts';
import { DECLINE_OUTCOMES, type DeclineOutcome } from './payments.ts';

export const SERVICE_FAULT_TABLES = `
  CREATE TABLE faults (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, operation TEXT, status INTEGER, ms INTEGER,
    outcome TEXT, times_left INTEGER NOT NULL CHECK (times_left >= 1)
  ) STRICT;
`;

/** A deliberate fault. */
export type ServiceFault = { readonly times?: number } & (
  | {
      /** An outage before the effect: nothing happens. */
      readonly kind: 'before';
      readonly operation?: OperationName;
      /**
       * The status of the response.
       *
       * @defaultValue 503
       */
      readonly status?: OutageStatus;
    }
  | {
      /** An outage after the effect: the effect happens, but the response does not show it. */
      readonly kind: 'after';
      readonly operation?: OperationName;
      /**
       * The status of the response.
       *
       * @defaultValue 504
       */
      readonly status?: OutageStatus;
    }
  /** The effect happens, but the response never arrives. */
  | { readonly kind: 'lost-answer'; readonly operation?: OperationName }
  /** The effect and the response are this many milliseconds late, in real time. */
  | { readonly kind: 'slow'; readonly operation?: OperationName; readonly ms: number }
  /** The next submission of an order is declined, whatever its payment method. */
  | { readonly kind: 'decline'; readonly outcome?: DeclineOutcome }
  /** The next order whose status the clock would change fails (`order.failed`). */
  | { readonly kind: 'fail-order' }
);

/** The kind of a service fault. */
export type FaultKind = ServiceFault['kind'];

/** A fault that has not happened yet. */
export interface PendingFault {
  readonly id: string;
  readonly kind: FaultKind;
  /** `null` for any operation. */
  readonly operation: OperationName | null;
  readonly status: OutageStatus | null;
  readonly ms: number | null;
  readonly outcome: DeclineOutcome | null;
  /** How many more times the fault will happen. */
  readonly timesLeft: number;
}

export const FAULT_KINDS: readonly FaultKind[] = ['before', 'after', 'lost-answer', 'slow', 'decline', 'fail-order'];
const OPERATION = oneOf(...OPERATION_NAMES);
const OUTAGE = { operation: OPERATION, status: oneOf(...Object.keys(OUTAGES).map(Number)) };
const DELAY = whole(0, 600_000);
const FIELDS: Readonly<Record<FaultKind, Readonly<Record<string, OptionRule>>>> = {
  before: OUTAGE,
  after: OUTAGE,
  'lost-answer': { operation: OPERATION },
  slow: { operation: OPERATION, ms: DELAY },
  decline: { outcome: oneOf(...DECLINE_OUTCOMES) },
  'fail-order': {},
};

export function addFault(tx: Transaction, fault: ServiceFault): string {
  const { kind, times = 1 } = fault;
  const { operation = null, status = null, ms = null, outcome = null } = fault as Partial<Omit<PendingFault, 'id'>>;
  assertOption('fault: kind', kind, oneOf(...FAULT_KINDS));
  assertOptions('fault', fault, { kind: true, times: whole(), ...FIELDS[kind] });
  if (kind === 'slow') assertOption('fault: ms', ms, DELAY);
  const id = tx.newId('fault');
  insert(tx, 'faults', {
    id,
    kind,
    operation,
    status: kind === 'before' || kind === 'after' ? (status ?? (kind === 'before' ? 503 : 504)) : null,
    ms,
    outcome: kind === 'decline' ? (outcome ?? 'declined') : null,
    times_left: times,
  });
  return id;
}

const COLUMNS = 'id, kind, operation, status, ms, outcome, times_left AS timesLeft';

/** Lists pending faults. */
export function listFaults(db: Reading): readonly PendingFault[] {
  return db.all(`SELECT ${COLUMNS} FROM faults ORDER BY seq`);
}

/** Removes one fault or all faults. */
export function removeFaults(tx: Transaction, id?: string): void {
  tx.run('DELETE FROM faults WHERE id = coalesce(?, id)', id ?? null);
}

/** Leaves the fault pending. */
export function findFault(
  db: Reading,
  operation: OperationName | null,
  kinds: readonly FaultKind[],
): PendingFault | null {
  const marks = kinds.map(() => '?').join(', ');
  const sql = `SELECT ${COLUMNS} FROM faults WHERE kind IN (${marks}) AND (operation IS NULL OR operation IS ?)
    ORDER BY seq LIMIT 1`;
  return db.get<PendingFault>(sql, ...kinds, operation) ?? null;
}

/** If the transaction fails, the fault is still pending. */
export function takeFault(
  tx: Transaction,
  operation: OperationName | null,
  ...kinds: readonly FaultKind[]
): PendingFault | null {
  const fault = findFault(tx, operation, kinds);
  if (fault === null) return null;
  tx.run('DELETE FROM faults WHERE id = ? AND times_left = 1', fault.id);
  tx.run('UPDATE faults SET times_left = times_left - 1 WHERE id = ?', fault.id);
  return fault;
}
