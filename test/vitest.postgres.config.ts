import { defineConfig } from 'vitest/config';
import everything, { ON_POSTGRES, POSTGRES_IN_FULL, POSTGRES_ON_DEMAND } from './vitest.config.ts';

/** `npm run test:postgres`: what takes long on a real Postgres, in full. */
const { projects: _, ...settings } = everything.test ?? {};
export default defineConfig({
  test: {
    ...settings,
    include: [...POSTGRES_IN_FULL, ...ON_POSTGRES],
    globalSetup: POSTGRES_ON_DEMAND,
    provide: { everything: true, postgresInFull: true },
  },
});
