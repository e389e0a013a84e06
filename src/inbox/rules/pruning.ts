import type { PruneCriteria, PrunePosition } from '../operator/removal.ts';
import { prunableStates, type EventState, type PrunableState } from '../state.ts';
import { addToAuditLine, type AuditLines } from './audit-line.ts';
import type { TimeSlice, Tombstones } from './engine.ts';
import type { Steps } from './steps.ts';
import { makeTombstone } from './tombstone.ts';

/** What an engine is asked for whose operators prune. */
export interface Prunings extends AuditLines, Pick<Tombstones, 'prune' | 'pruneErrors' | 'forgetConflict'> {
  settled(seq: number): Steps<SettledEvent | undefined>;
}

/** An event as far as it decides whether it may become a tombstone; `body` as it is `null` in one. */
export interface SettledEvent {
  readonly state: EventState;
  readonly settledAt: number | null;
  readonly body: Uint8Array | null;
}

/** The states that pruning goes through, in this order. */
export function statesToPrune({ states = ['processed'] }: Pick<PruneCriteria, 'states'>): readonly PrunableState[] {
  return prunableStates.filter((state) => states.includes(state));
}

/** How many events one look goes through where not all of them fit. */
export const EXAMINED = 1_000;

/** Where the search for what can be pruned begins in a state; `null` behind the last state. */
export function beginningOf(state: PrunableState | null): PrunePosition | null {
  return state === null ? null : { state, settledMs: Number.MIN_SAFE_INTEGER, seq: 0 };
}

export interface PruneCandidates {
  readonly found: readonly PrunePosition[];
  /** where to go on; `null` when everything was looked at */
  readonly next: PrunePosition | null;
}

/** An event in a state that is gone through, with a body. */
export interface LookedAt {
  readonly seq: number;
  readonly settledMs: number;
  readonly type: string | null;
  readonly endpoint: string;
}

/**
 * What one look has found.
 *
 * @param rows - what comes behind the position that was looked from, in the order in which it was settled
 * @param looked - so many were asked for
 */
export function candidatesAmong(
  criteria: PruneCriteria,
  state: PrunableState,
  rows: readonly LookedAt[],
  looked: number,
  limit: number,
): PruneCandidates {
  const found: PrunePosition[] = [];
  for (const row of rows) {
    if (!isMeant(criteria, row)) continue;
    const candidate = positionOf(state, row);
    found.push(candidate);
    if (found.length === limit) return { found, next: candidate };
  }
  const last = rows.at(-1);
  if (last !== undefined && rows.length === looked) return { found, next: positionOf(state, last) };
  const states = statesToPrune(criteria);
  return { found, next: beginningOf(states[states.indexOf(state) + 1] ?? null) };
}

function positionOf(state: PrunableState, { settledMs, seq }: LookedAt): PrunePosition {
  return { state, settledMs, seq };
}

/** Whether an event is one of those that are meant, whatever its state. */
export function isMeant(
  { types, endpoint }: Pick<PruneCriteria, 'types' | 'endpoint'>,
  event: { readonly type: string | null; readonly endpoint: string },
): boolean {
  return (types?.includes(event.type ?? '') ?? true) && (endpoint === undefined || event.endpoint === endpoint);
}

/** Whether an event is in a state since before then, and has a body to lose. */
export function isPrunable<E extends SettledEvent>(
  event: E,
  state: PrunableState,
  before: number,
): event is E & { readonly body: Uint8Array } {
  return event.state === state && event.settledAt !== null && event.settledAt < before && event.body !== null;
}

/** How far a transaction has come with what was found for it. */
export interface Pruned {
  readonly pruned: number;
  /** how many it has looked at */
  readonly worked: number;
}

/**
 * Makes tombstones of what was found outside of the transaction, and passes over what has changed since.
 *
 * @param audit - the line of the audit that counts it too
 * @param slice - ends it early. What goes with a body is not counted: another body, and what errors said
 */
export function* pruneFound(
  engine: Prunings,
  found: readonly Pick<PrunePosition, 'seq' | 'state'>[],
  before: number,
  audit: number | undefined,
  slice: TimeSlice,
): Steps<Pruned> {
  let pruned = 0;
  let worked = 0;
  for (const { seq, state } of found) {
    worked += 1;
    const event = yield* engine.settled(seq);
    if (event !== undefined && isPrunable(event, state, before)) {
      yield* makeTombstone(engine, seq, event.body);
      pruned += 1;
      slice.add(event.body.byteLength);
    } else {
      slice.add(0);
    }
    if (slice.isOver()) break;
  }
  if (audit !== undefined) yield* addToAuditLine(engine, audit, { pruned });
  return { pruned, worked };
}
