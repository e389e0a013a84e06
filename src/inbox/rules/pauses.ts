import { ConfigurationError } from '../../errors.ts';
import { LONGEST_ENDPOINT } from '../event.ts';
import type { Scope, Settlement } from '../work.ts';
import type { Author } from '../operator/acts.ts';

/** One endpoint and type. */
export interface EndpointType {
  readonly endpoint: string;
  readonly type: string;
}

/** A type whose events no claim may take now. With `but`, stands for all types except these. */
export interface ClosedLane extends EndpointType {
  readonly but?: readonly string[];
}

/** A paused type, and the operator who paused it; `processor` if a handler did. */
export interface StoredPause extends EndpointType {
  readonly since: Date;
  readonly actor: string;
  readonly reason: string | null;
  /** When a handler's pause ends by itself, or when an open breaker lets the next event probe. */
  readonly until?: Date;
  /** Failures in a row that opened a breaker. Such a pause ends with a success or by an operator. */
  readonly failures?: number;
}

/** A handler's pause, with times of the database's clock. */
export interface RequestedPause extends EndpointType {
  readonly now: number;
  readonly until: number;
  readonly reason: string | null;
}

export interface PauseRow extends EndpointType {
  readonly since_ms: number;
  readonly actor: string;
  readonly reason: string | null;
  readonly until_ms: number | null;
  readonly failures: number | null;
}

export const PAUSE_COLUMNS = 'endpoint, type, since_ms, actor, reason, until_ms, failures';

export function pauseOf({ endpoint, type, since_ms, actor, reason, until_ms: until, failures }: PauseRow): StoredPause {
  return {
    endpoint,
    type,
    since: new Date(since_ms),
    actor,
    reason,
    ...(until !== null && { until: new Date(until) }),
    ...(failures !== null && { failures }),
  };
}

export interface Write {
  readonly text: string;
  readonly values: readonly unknown[];
}

export function pauseWrite(pauses: string, pause: StoredPause): Write {
  const { endpoint, type, since, actor, reason, until, failures = null } = pause;
  return {
    text: `
      INSERT INTO ${pauses} (${PAUSE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (endpoint, type) DO UPDATE SET
        since_ms = excluded.since_ms, actor = excluded.actor, reason = excluded.reason, until_ms = excluded.until_ms,
        failures = excluded.failures`,
    values: [endpoint, type, since.getTime(), actor, reason, until?.getTime() ?? null, failures],
  };
}

/** A claim deletes expired pauses. */
export function lastingPauses<Pause extends StoredPause>(pauses: readonly Pause[], now: number): readonly Pause[] {
  return pauses.filter((pause) => !hasEnded(pause, now));
}

export function hasEnded({ until, failures }: StoredPause, now: number): boolean {
  return until !== undefined && failures === undefined && until.getTime() <= now;
}

/** An index holds a type with its endpoint. */
export const LONGEST_OF_LANE = { endpoint: LONGEST_ENDPOINT, type: 150 } as const;

export function isPaused(
  pauses: readonly ClosedLane[],
  { endpoint, type }: { readonly endpoint: string; readonly type: string | null },
): boolean {
  return pauses.some((pause) => pause.endpoint === endpoint && isMeant(pause, type));
}

function isMeant({ type, but }: ClosedLane, other: string | null): boolean {
  return but === undefined ? type === other : other !== null && !but.includes(other);
}

export function pausedAt(pauses: readonly EndpointType[], endpoint: string): readonly string[] {
  return pauses.filter((pause) => pause.endpoint === endpoint).map(({ type }) => type);
}

export function openLanes(pauses: readonly ClosedLane[], lanes: readonly EndpointType[]): readonly EndpointType[] {
  return lanes.filter((lane) => !isPaused(pauses, lane));
}

export function pausesIn(pauses: readonly ClosedLane[], { endpoints, types }: Scope): boolean {
  return pauses.some(
    (pause) =>
      (endpoints === '*' || endpoints.includes(pause.endpoint)) &&
      (types === '*' || types.some((type) => isMeant(pause, type))),
  );
}

const BY_HANDLER = 'processor';
const REASON_CHARACTERS = 500;

/** The pause that an attempt requests when it ends. An index cannot contain a longer type. */
export function pauseRequest(
  { endpoint, type }: { readonly endpoint: string; readonly type: string | null },
  settlement: Settlement,
  now: number,
): RequestedPause | null {
  if (!('pauseUntil' in settlement) || settlement.pauseUntil === undefined || settlement.pauseUntil <= now) return null;
  if (type === null || !isLane({ endpoint, type })) return null;
  const { error, pauseUntil: until } = settlement;
  const reason = error.message.trim().slice(0, REASON_CHARACTERS).toWellFormed();
  return { endpoint, type, now, until, reason: reason === '' ? null : reason };
}

/**
 * An operator's pause stays, and of two pauses by handlers, the one with the later end. An open breaker stays open, and
 * probes later.
 *
 * @returns `null` if the known pause stays
 */
export function planHandlersPause(
  known: StoredPause | null,
  { endpoint, type, now, until, reason }: RequestedPause,
): { readonly pause: StoredPause; readonly isNew: boolean } | null {
  if (known !== null && known.until === undefined) return null;
  if (known?.until !== undefined && known.until.getTime() >= until) return null;
  const isNew = known === null || hasEnded(known, now);
  if (known?.failures !== undefined) return { pause: { ...known, until: new Date(until) }, isNew };
  const since = isNew ? new Date(now) : known.since;
  return { pause: { endpoint, type, since, actor: BY_HANDLER, reason, until: new Date(until) }, isNew };
}

/** The audit has one line for a pause, however often attempts extend it. */
export function handlersPauseWrites(
  t: { readonly pauses: string; readonly audit: string },
  known: StoredPause | null,
  requested: RequestedPause,
): readonly Write[] {
  const plan = planHandlersPause(known, requested);
  if (plan === null) return [];
  const { now, until, reason } = requested;
  const counts = { seconds: Math.ceil((until - now) / 1_000) };
  const line = auditLine(t.audit, { act: 'pause', actor: BY_HANDLER, reason, now }, requested, counts);
  return [pauseWrite(t.pauses, plan.pause), ...(plan.isNew ? [line] : [])];
}

export function auditLine(
  audit: string,
  { act, actor, reason, now }: Pick<Author, 'actor' | 'reason' | 'now'> & { readonly act: 'pause' | 'resume' },
  { endpoint, type }: EndpointType,
  counts: Readonly<Record<string, number>>,
): Write {
  const facts = [JSON.stringify({ endpoint, type }), JSON.stringify(counts)];
  return {
    text: `INSERT INTO ${audit} (at_ms, actor, via, act, reason, filter, counts) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    values: [now, actor, 'code', act, reason, ...facts],
  };
}

/** A paused type keeps its pause, with the operator and the reason. An operator's pause replaces a handler's. */
export function planPause(
  known: StoredPause | null,
  { endpoint, type }: EndpointType,
  { actor, reason, now }: Author,
): { readonly pause: StoredPause; readonly changed: boolean } {
  if (known !== null && known.until === undefined) return { pause: known, changed: false };
  return { pause: { endpoint, type, since: new Date(now), actor, reason }, changed: true };
}

export function pausedSeconds({ since }: StoredPause, now: number): number {
  return Math.round(Math.max(0, now - since.getTime()) / 1_000);
}

export function assertLane({ endpoint, type }: EndpointType): void {
  for (const [what, name, longest] of [
    ['endpoint', endpoint, LONGEST_OF_LANE.endpoint],
    ['type', type, LONGEST_OF_LANE.type],
  ] as const) {
    if (isName(name, longest)) continue;
    throw new ConfigurationError('INVALID_OPTION', `${what} must be a name of 1 to ${longest} characters.`);
  }
}

export function isLane({ type }: EndpointType): boolean {
  return isName(type, LONGEST_OF_LANE.type);
}

function isName(name: unknown, longest: number): name is string {
  return typeof name === 'string' && name !== '' && name.length <= longest;
}
