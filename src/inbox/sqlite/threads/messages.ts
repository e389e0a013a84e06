import {
  InboxUnavailableError,
  causesOf,
  ConfigurationError,
  InboxOpenError,
  messageOf,
  nameOf,
} from '../../../errors.ts';
import type { Acceptance, IncomingEvent } from '../../event.ts';
import type { NumberedStart } from '../../rules/claim.ts';
import type { CommitOutcome } from '../../group-commit.ts';
import type { Move, MoveGiven } from '../../queue-moves.ts';

/** The body is in the buffer of its group, and ends at `end`. */
type PackedEvent = readonly [
  endpoint: string,
  id: string,
  type: string | null,
  createdMs: number | null,
  createdNs: number,
  entity: string | null,
  flags: number,
  receivedAt: number,
  trace: string | null,
  end: number,
  start: PackedStart | null,
];

type PackedStart = readonly [now: number, leaseMs: number, ordered: boolean, number: number, requestedAt: number];

type PackedEnd = readonly [
  seq: number,
  fence: number,
  now: number,
  again: boolean,
  requestedAt: number,
  limit: number | null,
  processor: string | null,
];

/** Node copies lists faster than objects. */
export interface PackedMoves {
  readonly moves: readonly (PackedEvent | PackedEnd | Move)[];
  /** all bodies, because sending one body would copy its whole slab */
  readonly bodies: ArrayBuffer;
}

const VERIFIED = 1;
const VALID = 2;

export function packMoves(moves: readonly Move[]): PackedMoves {
  let bytes = 0;
  for (const move of moves) if (isAccept(move)) bytes += move.given[0].body.byteLength;
  const bodies = new Uint8Array(bytes);
  let end = 0;
  const packed = moves.map((move): PackedEvent | PackedEnd | Move => {
    if (isPlainEnd(move)) {
      const [{ seq, fence }, { limit = null, processor = null }, now, again] = move.given;
      return [seq, fence, now, again, move.requestedAt, limit, processor];
    }
    if (!isAccept(move)) return move;
    const [event, start] = move.given;
    const { endpoint, id, body, type, created, entity, verified, valid, receivedAt, trace } = event;
    bodies.set(body, end);
    end += body.byteLength;
    const flags = (verified ? VERIFIED : 0) | (valid ? VALID : 0);
    const { ms = null, ns = 0 } = created ?? {};
    return [
      endpoint,
      id,
      type,
      ms,
      ns,
      entity,
      flags,
      receivedAt,
      trace ?? null,
      end,
      packStart(start, move.requestedAt),
    ];
  });
  return { moves: packed, bodies: bodies.buffer };
}

export function unpackMoves({ moves, bodies }: PackedMoves): Move[] {
  let begin = 0;
  return moves.map((move): Move => {
    if ('name' in move) return move;
    if (isPackedEnd(move)) {
      const [seq, fence, now, again, requestedAt, limit, processor] = move;
      const ran = { ...(limit !== null && { limit }), ...(processor !== null && { processor }) };
      return { name: 'settle', given: [{ seq, fence }, { outcome: 'processed', ...ran }, now, again], requestedAt };
    }
    const [endpoint, id, type, ms, ns, entity, flags, receivedAt, trace, end, start] = move;
    const event: IncomingEvent = {
      endpoint,
      id,
      body: new Uint8Array(bodies, begin, end - begin),
      type,
      created: ms === null ? null : { ms, ns },
      entity,
      verified: (flags & VERIFIED) !== 0,
      valid: (flags & VALID) !== 0,
      receivedAt,
      ...(trace !== null && { trace }),
    };
    begin = end;
    if (start === null) return { name: 'accept', given: [event], requestedAt: 0 };
    const [now, leaseMs, ordered, number, requestedAt] = start;
    return { name: 'accept', given: [event, { now, leaseMs, ordered, number }], requestedAt };
  });
}

function packStart(start: NumberedStart | undefined, requestedAt: number): PackedStart | null {
  return start === undefined ? null : [start.now, start.leaseMs, start.ordered, start.number ?? 0, requestedAt];
}

function isPlainEnd(move: Move): move is Move & { readonly given: MoveGiven<'settle'> } {
  if (move.name !== 'settle') return false;
  const [, settlement] = move.given as MoveGiven<'settle'>;
  const { outcome, log, breaker } = settlement;
  return outcome === 'processed' && settlement.skipped === undefined && log === undefined && breaker === undefined;
}

function isPackedEnd(move: PackedEvent | PackedEnd): move is PackedEnd {
  return typeof move[0] === 'number';
}

function isAccept(move: Move): move is Move & { readonly given: MoveGiven<'accept'> } {
  return move.name === 'accept';
}

/** A number or a lease for a delivery; `true` for most settlements. */
export type PackedOutcome =
  | number
  | true
  | PackedLease
  | 'busy'
  | { readonly result: unknown }
  | { readonly failure: FailureData };

type PackedLease = readonly [seq: number, fence: number, superseded: boolean];

const DUPLICATE = 1;
const CONFLICT = 2;
const REPLACED = 4;
const STORED: Acceptance = { result: 'stored', conflict: false, replaced: false };

export function packOutcomes(moves: readonly Move[], outcomes: readonly CommitOutcome[]): PackedOutcome[] {
  return outcomes.map((outcome, at) => {
    if (outcome === 'busy') return outcome;
    if ('failure' in outcome) return { failure: failureData(outcome.failure) };
    if (outcome.result === true) return true;
    if (moves[at]?.name !== 'accept') return outcome;
    const { result, conflict, replaced, started } = outcome.result as Acceptance; // the result of `accept`
    if (started !== undefined) return [started.seq, started.fence, started.superseded];
    return (result === 'duplicate' ? DUPLICATE : 0) | (conflict ? CONFLICT : 0) | (replaced ? REPLACED : 0);
  });
}

export function unpackOutcomes(outcomes: readonly PackedOutcome[]): CommitOutcome[] {
  return outcomes.map((outcome) => {
    if (outcome === 'busy') return outcome;
    if (outcome === true) return { result: true };
    if (typeof outcome === 'number') return { result: acceptance(outcome) };
    if (isLease(outcome)) {
      const [seq, fence, superseded] = outcome;
      return { result: { ...STORED, started: { seq, fence, superseded } } };
    }
    if ('result' in outcome) return outcome;
    return { failure: failureFrom(outcome.failure) as InboxUnavailableError }; // as its name requires
  });
}

function isLease(outcome: object): outcome is PackedLease {
  return Array.isArray(outcome);
}

function acceptance(flags: number): Acceptance {
  if (flags === 0) return STORED;
  return {
    result: (flags & DUPLICATE) === 0 ? 'stored' : 'duplicate',
    conflict: (flags & CONFLICT) !== 0,
    replaced: (flags & REPLACED) !== 0,
  };
}

/** The error code if only the connection that started a thread may use the file. */
export const UNFIT = 'UNFIT';
/** As UNFIT, but the request may have been executed. */
export const UNFIT_BEGUN = 'UNFIT_BEGUN';

export function unfit(why: string, isBegun: boolean): InboxUnavailableError {
  const code = isBegun ? UNFIT_BEGUN : UNFIT;
  return new InboxUnavailableError('FAILED', why, { cause: Object.assign(new Error(why), { code }) });
}

export function codesOf(failure: unknown): readonly string[] {
  return causesOf(failure).flatMap((cause) => {
    const { code } = Object(cause) as { readonly code?: unknown };
    return typeof code === 'string' ? [code] : [];
  });
}

/** An error as a message, because sending an error would remove its class and its code. */
export interface FailureData {
  readonly name: string;
  readonly message: string;
  readonly code: string | null;
  readonly cause: FailureData | null;
}

const DEEPEST_CAUSE = 3;

export function failureData(failure: unknown, depth = 0): FailureData {
  const { code = null, cause } = Object(failure) as { readonly code?: unknown; readonly cause?: unknown };
  return {
    name: nameOf(failure),
    message: messageOf(failure),
    code: typeof code === 'string' ? code : null,
    cause: cause === undefined || depth === DEEPEST_CAUSE ? null : failureData(cause, depth + 1),
  };
}

export function failureFrom({ name, message, code, cause }: FailureData): Error {
  const options = cause === null ? undefined : { cause: failureFrom(cause) };
  // The code came from an error of the same class.
  if (name === 'InboxUnavailableError') {
    return new InboxUnavailableError(code as InboxUnavailableError['code'], message, options);
  }
  if (name === 'InboxOpenError') return new InboxOpenError(code as InboxOpenError['code'], message, options);
  if (name === 'ConfigurationError') return new ConfigurationError(code as ConfigurationError['code'], message);
  return Object.assign(new Error(message, options), { name }, code !== null && { code });
}
