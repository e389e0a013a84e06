import { ConfigurationError } from '../errors.ts';
import { OUTAGES, type OutageStatus } from './errors.ts';
import { insert, type Reading, type Transaction } from './store.ts';
import { OPERATION_NAMES, OPERATIONS, type OperationName } from './service-operations.ts';
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

/** All kinds. */
export const FAULT_KINDS: readonly FaultKind[] = ['before', 'after', 'lost-answer', 'slow', 'decline', 'fail-order'];
const NAMES: ReadonlySet<string> = new Set(['kind', 'times', 'operation', 'status', 'ms', 'outcome']);
const OF_ORDERS: ReadonlySet<FaultKind> = new Set(['decline', 'fail-order']);
const MOST_MS = 600_000;

/**
 * Has something go wrong, so many times as `times` says: once unless set.
 *
 * @returns its id
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function addFault(tx: Transaction, fault: ServiceFault): string {
  const { kind, times = 1 } = fault;
  const unknown = Object.keys(fault).find((name) => !NAMES.has(name));
  check(unknown === undefined, `unknown field ${JSON.stringify(unknown)}. Allowed: ${[...NAMES].join(', ')}`);
  const { operation = null, status = null, ms = null, outcome = null } = fault as Partial<Omit<PendingFault, 'id'>>;
  check(FAULT_KINDS.includes(kind), `kind must be one of ${FAULT_KINDS.join(', ')}`);
  check(Number.isSafeInteger(times) && times >= 1, 'times must be a whole number above 0');
  check(
    operation === null || Object.hasOwn(OPERATIONS, operation),
    `operation must be one of ${OPERATION_NAMES.join(', ')}`,
  );
  check(operation === null || !OF_ORDERS.has(kind), `${kind} is a fault of orders and takes no operation`);
  check(status === null || Object.hasOwn(OUTAGES, status), 'status must be 500, 502, 503 or 504');
  check(
    outcome === null || DECLINE_OUTCOMES.includes(outcome),
    `outcome must be one of ${DECLINE_OUTCOMES.join(', ')}`,
  );
  const isDelay = ms !== null && Number.isSafeInteger(ms) && ms >= 0 && ms <= MOST_MS;
  check(
    kind === 'slow' ? isDelay : ms === null,
    kind === 'slow'
      ? `ms, the delay of the response, must be from 0 to ${MOST_MS}`
      : 'only a fault of kind slow takes ms',
  );
  const id = tx.newId('fault');
  insert(tx, 'faults', {
    id,
    kind,
    operation,
    status: statusOf(kind, status),
    ms,
    outcome: outcomeOf(kind, outcome),
    times_left: times,
  });
  return id;
}

function check(isFine: boolean, otherwise: string): void {
  if (!isFine) throw new ConfigurationError('INVALID_OPTION', `fault: ${otherwise}.`);
}

function statusOf(kind: FaultKind, status: OutageStatus | null): OutageStatus | null {
  if (kind === 'before') return status ?? 503;
  return kind === 'after' ? (status ?? 504) : null;
}

function outcomeOf(kind: FaultKind, outcome: DeclineOutcome | null): DeclineOutcome | null {
  return kind === 'decline' ? (outcome ?? 'declined') : null;
}

const COLUMNS = 'id, kind, operation, status, ms, outcome, times_left AS timesLeft';

/** All that have not happened as often as they should. */
export function listFaults(db: Reading): readonly PendingFault[] {
  return db.all(`SELECT ${COLUMNS} FROM faults ORDER BY seq`) as readonly PendingFault[];
}

/** Has faults not happen any more: one, or all. */
export function removeFaults(tx: Transaction, id?: string): void {
  if (id === undefined) tx.run('DELETE FROM faults');
  else tx.run('DELETE FROM faults WHERE id = ?', id);
}

/** The first fault of these kinds that waits for an operation, without using it up. */
export function findFault(
  db: Reading,
  operation: OperationName | null,
  kinds: readonly FaultKind[],
): PendingFault | null {
  const marks = kinds.map(() => '?').join(', ');
  const sql = `SELECT ${COLUMNS} FROM faults WHERE kind IN (${marks}) AND (operation IS NULL OR operation IS ?) ORDER BY seq LIMIT 1`;
  return (db.get(sql, ...kinds, operation) as PendingFault | undefined) ?? null;
}

/** Uses the first such fault up once. It is taken back with the transaction: what has not happened may happen yet. */
export function takeFault(
  tx: Transaction,
  operation: OperationName | null,
  ...kinds: readonly FaultKind[]
): PendingFault | null {
  const fault = findFault(tx, operation, kinds);
  if (fault === null) return null;
  if (fault.timesLeft === 1) tx.run('DELETE FROM faults WHERE id = ?', fault.id);
  else tx.run('UPDATE faults SET times_left = times_left - 1 WHERE id = ?', fault.id);
  return fault;
}
