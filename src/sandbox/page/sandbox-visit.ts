import type { Visit } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';

/** One request for a screen of the dashboard. */
export interface SandboxVisit extends Pick<Visit, 'visitor' | 'base' | 'csrf' | 'url' | 'now'> {
  readonly sandbox: Sandbox;
  /** in every form of this answer, and in no other answer: it tells a form that comes twice */
  readonly sight: string;
  /** the address of the service, for examples */
  readonly service: string;
}
