import { configDefaults, defineConfig, mergeConfig } from 'vitest/config';
import everything, { POSTGRES_IN_FULL } from './vitest.config.ts';

/** `npm run test:all`: everything but what takes longest on Postgres. */
export default mergeConfig(
  everything,
  defineConfig({ test: { exclude: [...configDefaults.exclude, ...POSTGRES_IN_FULL] } }),
);
