import type { Hang } from './hangs.ts';

/** Whether a simulated process still runs. */
export interface Life {
  /** it never does anything again: what it has called and not heard of, it never hears of */
  dead: boolean;
  /** it does nothing until it thaws */
  frozen: boolean;
  thawed: PromiseWithResolvers<void>;
  /** its next call finds the inbox failing */
  failsNext: boolean;
  /** it was told to end */
  closing: boolean;
  /** what its handlers have left hanging, which ends with it */
  readonly hangs: Hang[];
}

export function newLife(): Life {
  return { dead: false, frozen: false, thawed: Promise.withResolvers(), failsNext: false, closing: false, hangs: [] };
}
