import { configDefaults, defineConfig, mergeConfig } from 'vitest/config';
import everything, { ON_POSTGRES } from './vitest.config.ts';

/** `npm run test:all`: everything, and of Postgres what `npm test` has too. */
export default mergeConfig(
  everything,
  defineConfig({ test: { exclude: [...configDefaults.exclude, ...ON_POSTGRES] } }),
);
