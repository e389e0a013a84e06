import { configDefaults, defineConfig, mergeConfig } from 'vitest/config';
import everything, { LONGEST } from './vitest.config.ts';

/** `npm run test:all`: everything but what takes longest. */
export default mergeConfig(everything, defineConfig({ test: { exclude: [...configDefaults.exclude, ...LONGEST] } }));
