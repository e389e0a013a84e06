import { defineConfig } from 'vitest/config';
import everything, { POSTGRES_ON_DEMAND, tagged } from './vitest.config.ts';

/** `npm run test:long`: what takes longest, and in full what is done less often elsewhere. */
const { projects: _, ...settings } = everything.test ?? {};
export default defineConfig({
  test: {
    ...settings,
    include: [...tagged('longest', 'postgres', 'repeated')],
    globalSetup: POSTGRES_ON_DEMAND,
    provide: { everything: true, inFull: true },
  },
});
