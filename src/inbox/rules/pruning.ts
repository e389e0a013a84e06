import { prunableStates, type EventState, type PrunableState } from '../event.ts';
import { Budget, withinBudget } from './budget.ts';

/** The events to prune. */
export interface PruneCriteria {
  /** Settled before this time. */
  readonly settledBefore: Date;
  /**
   * In one of these states.
   *
   * @defaultValue `['processed']`
   */
  readonly states?: readonly PrunableState[];
  readonly types?: readonly string[];
  readonly endpoint?: string;
}

export interface PrunePosition {
  readonly state: PrunableState;
  readonly settledMs: number;
  readonly seq: number;
}

export function statesToPrune({ states = ['processed'] }: Pick<PruneCriteria, 'states'>): readonly PrunableState[] {
  return prunableStates.filter((state) => states.includes(state));
}

export const EXAMINED = 1_000;

/** `null` behind the last state. */
export function beginningOf(state: PrunableState | null): PrunePosition | null {
  return state === null ? null : { state, settledMs: Number.MIN_SAFE_INTEGER, seq: 0 };
}

export interface PruneCandidates {
  readonly found: readonly PrunePosition[];
  readonly next: PrunePosition | null;
}

export interface LookedAt {
  readonly seq: number;
  readonly settledMs: number;
  readonly type: string | null;
  readonly endpoint: string;
}

/**
 * @param rows - the events behind the position, in the order in which they were settled
 * @param looked - the number of requested events
 */
export function candidatesAmong(
  criteria: PruneCriteria,
  state: PrunableState,
  rows: readonly LookedAt[],
  looked: number,
  limit: number,
): PruneCandidates {
  const found: PrunePosition[] = [];
  let last: PrunePosition | null = null;
  for (const row of rows) {
    last = { state, settledMs: row.settledMs, seq: row.seq };
    if (!isMeant(criteria, row)) continue;
    found.push(last);
    if (found.length === limit) return { found, next: last };
  }
  if (last !== null && rows.length === looked) return { found, next: last };
  const states = statesToPrune(criteria);
  return { found, next: beginningOf(states[states.indexOf(state) + 1] ?? null) };
}

export function isMeant(
  { types, endpoint }: Pick<PruneCriteria, 'types' | 'endpoint'>,
  event: { readonly type: string | null; readonly endpoint: string },
): boolean {
  return (types?.includes(event.type ?? '') ?? true) && (endpoint === undefined || event.endpoint === endpoint);
}

export interface SettledEvent {
  readonly state: EventState;
  readonly settledAt: number | null;
  readonly bytes: number | null;
}

/** Whether an event has been in a state since before this time, and has a body. */
export function isPrunable({ state, settledAt, bytes }: SettledEvent, wanted: PrunableState, before: number): boolean {
  return state === wanted && settledAt !== null && settledAt < before && bytes !== null;
}

export interface PrunePlan {
  readonly prune: readonly number[];
  readonly worked: number;
}

/**
 * Some of the found events may have changed since they were found.
 *
 * @param settled - the events in the transaction
 */
export function planPrune(
  found: readonly Pick<PrunePosition, 'seq' | 'state'>[],
  settled: ReadonlyMap<number, SettledEvent>,
  before: number,
  budget = new Budget(),
): PrunePlan {
  const worked = withinBudget(
    found.map((each) => ({ ...each, event: settled.get(each.seq), bytes: settled.get(each.seq)?.bytes ?? 0 })),
    budget,
  );
  const chosen = worked.filter(({ event, state }) => event !== undefined && isPrunable(event, state, before));
  return { prune: chosen.map(({ seq }) => seq), worked: worked.length };
}
