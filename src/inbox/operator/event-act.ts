import type { EventAct } from './audit.ts';

/** So many actions on one event are told, the newest. */
export const MOST_ACTS = 500;

/** An action on an event as it is stored: its line of the audit, and when it came to this event. */
export interface EventActRow extends Pick<EventAct, 'audit' | 'actor' | 'via' | 'act' | 'reason'> {
  readonly at_ms: number;
  /** JSON */
  readonly filter: string;
}

export function eventActOf({ at_ms, filter, ...line }: EventActRow): EventAct {
  const about: unknown = JSON.parse(filter); // written by addAuditLine
  const bulk = typeof about === 'object' && about !== null && 'bulk' in about ? about.bulk : null;
  return { at: new Date(at_ms), ...line, bulk: typeof bulk === 'number' ? bulk : null };
}
