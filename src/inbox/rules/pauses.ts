import { ConfigurationError } from '../../errors.ts';
import { LONGEST_ENDPOINT } from '../event.ts';
import type { Scope } from '../work.ts';
import type { Author } from '../operator/acts.ts';

/** One endpoint and type. */
export interface EndpointType {
  readonly endpoint: string;
  readonly type: string;
}

/** A paused type, and the operator who paused it. */
export interface StoredPause extends EndpointType {
  readonly since: Date;
  readonly actor: string;
  readonly reason: string | null;
}

export interface PauseRow extends EndpointType {
  readonly since_ms: number;
  readonly actor: string;
  readonly reason: string | null;
}

export const PAUSE_COLUMNS = 'endpoint, type, since_ms, actor, reason';

export function pauseOf({ endpoint, type, since_ms, actor, reason }: PauseRow): StoredPause {
  return { endpoint, type, since: new Date(since_ms), actor, reason };
}

/** An index holds a type with its endpoint. */
export const LONGEST_OF_LANE = { endpoint: LONGEST_ENDPOINT, type: 150 } as const;

export function isPaused(
  pauses: readonly EndpointType[],
  { endpoint, type }: { readonly endpoint: string; readonly type: string | null },
): boolean {
  return pauses.some((pause) => pause.endpoint === endpoint && pause.type === type);
}

export function pausedAt(pauses: readonly EndpointType[], endpoint: string): readonly string[] {
  return pauses.filter((pause) => pause.endpoint === endpoint).map(({ type }) => type);
}

export function openLanes(pauses: readonly EndpointType[], lanes: readonly EndpointType[]): readonly EndpointType[] {
  return lanes.filter((lane) => !isPaused(pauses, lane));
}

export function pausesIn(pauses: readonly EndpointType[], { endpoints, types }: Scope): boolean {
  return pauses.some(
    ({ endpoint, type }) =>
      (endpoints === '*' || endpoints.includes(endpoint)) && (types === '*' || types.includes(type)),
  );
}

/** A paused type keeps its pause, with the operator and the reason. */
export function planPause(
  known: StoredPause | null,
  { endpoint, type }: EndpointType,
  { actor, reason, now }: Author,
): { readonly pause: StoredPause; readonly changed: boolean } {
  if (known !== null) return { pause: known, changed: false };
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
    if (typeof name === 'string' && name !== '' && name.length <= longest) continue;
    throw new ConfigurationError('INVALID_OPTION', `${what} must be a name of 1 to ${longest} characters.`);
  }
}
