import { valuesOf } from '../../page/safety/posted-form.ts';
import type { Visit } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';

/** One request for a screen of the dashboard. */
export interface SandboxVisit extends Pick<Visit, 'visitor' | 'base' | 'csrf' | 'url' | 'now'> {
  readonly sandbox: Sandbox;
  /** in every form of this answer, and in no other answer: it tells a form that comes twice */
  readonly sight: string;
  /** the address of the service, for examples */
  readonly service: string;
  /** a form that was refused: it is shown once more, as it was filled in */
  readonly sent?: { readonly to: string; readonly form: FormData };
}

/** The values of the fields of a refused form; `undefined` if another form was sent. */
export function sentInto({ sent }: SandboxVisit, to: string): ((name: string) => readonly string[]) | undefined {
  if (sent === undefined || sent.to !== to) return undefined;
  return (name) => valuesOf(sent.form, name);
}
