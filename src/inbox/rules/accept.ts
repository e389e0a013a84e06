import { createHash } from 'node:crypto';
import type { Acceptance, EventState, IncomingEvent, Occurrences } from '../event.ts';
import type { StartRequest } from '../work.ts';
import { setBackBy } from './claim.ts';
import type { Counting } from './counted.ts';
import type { Queue } from './store.ts';

export const STORED: Acceptance = Object.freeze({ result: 'stored', conflict: false, replaced: false });
/** Above this number of events that no claim has indexed, an acceptance does not search for the entity. */
export const MANY_FRESH = 100;
/** Stands for another body of an erased event: only the number of these bodies is kept. */
const NO_BYTES = new Uint8Array();

export interface Ahead {
  readonly isCrowded: boolean;
  readonly isPaused: boolean;
  /** a lease or a pending event of its entity */
  readonly isEntityBusy: boolean;
  readonly isSuperseded: boolean;
  readonly latest: number;
  readonly isMovingBack: boolean;
}

export function runsAtOnce(ahead: Ahead, { now, ordered }: Pick<StartRequest, 'now' | 'ordered'>): boolean {
  if (ahead.isCrowded || ahead.isPaused || (ordered && ahead.isEntityBusy)) return false;
  // A claim moves everything back when the clock was set back.
  return !ahead.isMovingBack && setBackBy(ahead.latest, now) === 0;
}

export interface FirstState {
  readonly state: 'pending' | 'processing' | 'dead';
  readonly deadReason: 'invalid' | null;
  readonly settledAt: number | null;
  readonly isFresh: boolean;
}

const PENDING: FirstState = { state: 'pending', deadReason: null, settledAt: null, isFresh: true };
const RUNNING: FirstState = { ...PENDING, state: 'processing', isFresh: false };

export function firstStateOf(
  { valid, receivedAt }: Pick<IncomingEvent, 'valid' | 'receivedAt'>,
  runs = false,
): FirstState {
  if (!valid) return { state: 'dead', deadReason: 'invalid', settledAt: receivedAt, isFresh: false };
  return runs ? RUNNING : PENDING;
}

export interface KnownEvent extends StoredBody, Queue {
  readonly seq: number;
  readonly state: EventState;
  readonly invalid: boolean;
  readonly verified: boolean;
  readonly erased?: boolean;
  readonly redeliveries: Times | null;
  readonly conflicts: Times | null;
}

export type Resolution =
  /** the first body wins; only the redelivery is counted */
  | 'same'
  /** the first body wins; the other one is kept beside it */
  | 'conflict'
  /** the new body replaces the old one, which is kept if it differs */
  | 'replace'
  /** the same bytes, now with a signature: the event counts as verified from here on */
  | 'verify';

/**
 * Decides between the stored body and another one under its key. A valid body replaces an invalid one. A verified body
 * replaces an unverified one that is not settled. An unverified body never replaces a verified one, and no body replaces an
 * erased one.
 */
export function resolve(
  known: Pick<KnownEvent, 'state' | 'invalid' | 'verified' | 'erased'>,
  incoming: { readonly valid: boolean; readonly verified: boolean; readonly sameBytes: boolean },
): Resolution {
  const settled = known.state === 'processed' || known.state === 'processing';
  const gainsTrust = incoming.verified && !known.verified;
  const losesTrust = known.verified && !incoming.verified;
  const mends = known.invalid && incoming.valid && !losesTrust;

  if (mends || (gainsTrust && !settled && !incoming.sameBytes)) {
    if (known.erased !== true) return 'replace';
    return incoming.sameBytes ? 'same' : 'conflict';
  }
  if (incoming.sameBytes) return gainsTrust ? 'verify' : 'same';
  return 'conflict';
}

export interface DeliveredAgain {
  readonly event: KnownEvent;
  /** the newest body that is kept beside the event; `null` if they bring none */
  readonly beside: Uint8Array | null;
  /** the delivery that replaces the stored event; `null` if the event stays */
  readonly replacement: IncomingEvent | null;
  readonly isVerified: boolean;
  /** queues that the event may have left, so that their next events may be claimed */
  readonly left: readonly Queue[];
}

export function unchanged(event: KnownEvent): DeliveredAgain {
  return { event, beside: null, replacement: null, isVerified: false, left: [] };
}

/** @param before - the changes of earlier deliveries of its key in the same transaction */
export function planAgain(
  before: DeliveredAgain,
  delivery: IncomingEvent,
): { readonly acceptance: Acceptance; readonly change: DeliveredAgain } {
  const { event: known, replacement } = before;
  const { body, entity, receivedAt, valid, verified } = delivery;
  const sameBytes = hasSameBody(known, body);
  const resolution = resolve(known, { valid, verified, sameBytes });
  const [conflict, replaced] = [resolution === 'conflict', resolution === 'replace'];
  let beside: Uint8Array | null = null;
  if (conflict) beside = known.erased === true ? NO_BYTES : body;
  if (replaced && !sameBytes) beside = known.body;
  const event = {
    ...known,
    redeliveries: oneMore(known.redeliveries, receivedAt),
    conflicts: beside === null ? known.conflicts : oneMore(known.conflicts, receivedAt),
  };
  const acceptance = { result: 'duplicate', conflict, replaced } as const;
  const change = { ...before, event, beside: beside ?? before.beside };
  if (resolution === 'verify') {
    const trusted = { ...change, event: { ...event, verified: true } };
    if (replacement === null) return { acceptance, change: { ...trusted, isVerified: true } };
    return { acceptance, change: { ...trusted, replacement: { ...replacement, verified: true } } };
  }
  if (!replaced) return { acceptance, change };
  // It may have been the front of another entity's queue, or of this one's.
  const entities = new Set([...before.left.map((queue) => queue.entity), known.entity, entity]);
  return {
    acceptance,
    change: {
      ...change,
      event: { ...event, entity, state: firstStateOf(delivery).state, invalid: !valid, verified, body, hash: null },
      // A delivery without a trace keeps the trace of the earlier delivery.
      replacement: { ...replacement, ...delivery },
      isVerified: false,
      left: [...entities].map((named) => ({ endpoint: known.endpoint, entity: named })),
    },
  };
}

export function countDelivery(
  counts: Counting['counts'],
  { type, valid }: IncomingEvent,
  { result, conflict, replaced }: Acceptance,
): void {
  if (result === 'stored') counts.countType('stored', type);
  else counts.count('duplicate', '');
  if (conflict) counts.count('conflict', '');
  if (!valid && (result === 'stored' || replaced)) counts.countType('dead', type);
}

export interface Times {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  readonly recent: readonly number[];
}

const RECENT = 20;

export function oneMore(before: Times | null, at: number): Times {
  if (before === null) return { count: 1, first: at, last: at, recent: [at] };
  const { count, first, recent } = before;
  return { count: count + 1, first, last: at, recent: [...recent, at].slice(-RECENT) };
}

export function occurrencesOf(times: Times | null): Occurrences {
  if (times === null) return { count: 0, firstAt: null, lastAt: null, recent: [] };
  const { count, first, last, recent } = times;
  return { count, firstAt: new Date(first), lastAt: new Date(last), recent: recent.map((ms) => new Date(ms)) };
}

export interface StoredBody {
  readonly body: Uint8Array | null;
  readonly hash: Uint8Array | null;
}

export function hashOf(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest();
}

/** The hash of a body that hookbox never received, because other code handled the event. */
export const UNKNOWN_HASH: Uint8Array = new Uint8Array();

export function hasSameBody(known: StoredBody, arrived: Uint8Array): boolean {
  return isSameBody(known, { body: arrived, hash: null });
}

/** A body that hookbox never received counts as the same, so that a redelivery is not a conflict. */
export function isSameBody(one: StoredBody, other: StoredBody): boolean {
  if (one.body !== null && other.body !== null) return Buffer.compare(one.body, other.body) === 0;
  const [hash, otherHash] = [one, other].map(({ body, hash }) => (body === null ? hash : hashOf(body)));
  if (!hash || !otherHash) return false;
  return hash.byteLength === 0 || otherHash.byteLength === 0 || Buffer.compare(hash, otherHash) === 0;
}
