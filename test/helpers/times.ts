import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** this is `npm run test:all`, not `npm test` */
    everything: boolean;
    /** this is `npm run test:postgres` */
    postgresInFull: boolean;
  }
}

export const everything = inject('everything');

/** How often a test does what it does: as often as it should in `npm run test:all`, less often in `npm test`. */
export function times(all: number, product: number): number {
  return everything ? all : product;
}

/** How often a test does on Postgres what it does: as often as it should in `npm run test:postgres`, less often elsewhere. */
export function timesOnPostgres(inFull: number, otherwise: number): number {
  return inject('postgresInFull') ? inFull : otherwise;
}
