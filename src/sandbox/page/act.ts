import type { Screen } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { SandboxVisit } from './sandbox-visit.ts';
import type { SayingCode } from './sayings.ts';

/** What a form asks for. */
export interface Asked {
  readonly sandbox: Sandbox;
  readonly form: FormData;
  /** what the path names; empty where it names nothing */
  readonly id: string;
}

/** What an action came to, and where to look next. */
export interface Outcome {
  /** the path below the base */
  readonly to: string;
  readonly said: SayingCode;
  readonly figures?: readonly number[];
  /** Shown in the answer itself, because it shows what is shown once: a value that no URL may hold. */
  readonly once?: (visit: SandboxVisit) => Screen;
}

/** Does what a form asks for. What it throws is told to whoever has sent it, and then nothing was done. */
export type Act = (asked: Asked) => Outcome | Promise<Outcome>;

/** A form that cannot be done as it is; the message says what to change, and ends a sentence. */
export class FormError extends Error {
  override readonly name = 'FormError';
  readonly status: 400 | 409;

  constructor(message: string, status: 400 | 409 = 400) {
    super(message);
    this.status = status;
  }
}
