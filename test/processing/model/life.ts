import type { Hang } from './hangs.ts';

export interface Life {
  /** it gets no more answers */
  dead: boolean;
  /** it does nothing until it thaws */
  frozen: boolean;
  thawed: PromiseWithResolvers<void>;
  /** its next call finds the inbox failing */
  failsNext: boolean;
  closing: boolean;
  /** hanging handlers, which end with the process */
  readonly hangs: Hang[];
}

export function newLife(): Life {
  return { dead: false, frozen: false, thawed: Promise.withResolvers(), failsNext: false, closing: false, hangs: [] };
}
