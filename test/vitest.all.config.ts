import { configDefaults, defineConfig, mergeConfig } from 'vitest/config';
import everything, { tagged } from './vitest.config.ts';

/** `npm run test:all`: everything but what takes longest. */
export default mergeConfig(
  everything,
  defineConfig({ test: { exclude: [...configDefaults.exclude, ...tagged('longest')] } }),
);
