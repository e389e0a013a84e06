import type { AnyInbox } from '../inbox/contract.ts';
import type { Bulk } from '../inbox/operator/acts.ts';
import type { EndpointType, StoredPause } from '../inbox/rules/pauses.ts';
import type { RunningProcessor } from '../inbox/work.ts';
import { pausedTypes } from './pauses.ts';

/** Why events wait although they are due. */
export interface HeldUp {
  readonly paused: readonly StoredPause[];
  readonly hasProcessor: boolean;
  /** types that no running processor handles */
  readonly unhandled: readonly string[];
}

/** The events that the caller asks about. */
export interface HeldUpLanes {
  readonly types: readonly string[];
  /** `null` where they may be at any endpoint */
  readonly endpoints: readonly string[] | null;
}

/** What would hold up events that an action makes due. */
export async function heldUp(inbox: AnyInbox, { types, endpoints }: HeldUpLanes, now = Date.now()): Promise<HeldUp> {
  const [pauses, { processors }] = await Promise.all([pausedTypes(inbox), inbox.processors(now)]);
  const isMeant = ({ endpoint, type }: EndpointType): boolean =>
    types.includes(type) && (endpoints === null || endpoints.includes(endpoint));
  const handles = (processor: RunningProcessor, type: string): boolean =>
    (processor.types === '*' || processor.types.includes(type)) &&
    (processor.endpoints === '*' ||
      endpoints === null ||
      processor.endpoints.some((endpoint) => endpoints.includes(endpoint)));
  return {
    paused: pauses.filter(isMeant),
    hasProcessor: processors.length > 0,
    unhandled: types.filter((type) => !processors.some((processor) => handles(processor, type))),
  };
}

/** The types and endpoints that a preview has counted by name. */
export function lanesOf({ breakdown }: Pick<Bulk, 'breakdown'>): HeldUpLanes {
  const endpoints = Object.keys(breakdown.endpoints);
  return {
    types: Object.keys(breakdown.types).filter((type) => type !== 'invalid' && type !== 'other'),
    endpoints: endpoints.includes('other') ? null : endpoints,
  };
}
