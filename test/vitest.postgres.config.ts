import { defineConfig } from 'vitest/config';
import everything, { ON_POSTGRES, POSTGRES_ON_DEMAND } from './vitest.config.ts';

/** `npm run test:postgres`: what takes long on a real Postgres. */
const { projects: _, ...settings } = everything.test ?? {};
export default defineConfig({
  test: { ...settings, include: [...ON_POSTGRES], globalSetup: POSTGRES_ON_DEMAND },
});
