import { defineConfig } from 'vitest/config';
import everything, { BY_TIMES, ON_POSTGRES, LONGEST, POSTGRES_ON_DEMAND } from './vitest.config.ts';

/** `npm run test:long`: what takes longest, and in full what is done less often elsewhere. */
const { projects: _, ...settings } = everything.test ?? {};
export default defineConfig({
  test: {
    ...settings,
    include: [...LONGEST, ...ON_POSTGRES, ...BY_TIMES],
    globalSetup: POSTGRES_ON_DEMAND,
    provide: { everything: true, inFull: true },
  },
});
