import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** this is no `npm test`: there are other runtimes and hosts, too */
    everything: boolean;
    /** this is `npm run test:long` */
    inFull: boolean;
  }
}

export const everything = inject('everything');

/** How often a test does what it does: as often as it should in `npm run test:long`, less often where somebody waits. */
export function times(inFull: number, otherwise: number): number {
  return inject('inFull') ? inFull : otherwise;
}
