import { configDefaults, defineConfig, mergeConfig } from 'vitest/config';
import everything, { tagged } from './vitest.config.ts';

/** `npm test`: everything of the product on its own Node, in minutes. */
export default mergeConfig(
  everything,
  defineConfig({
    test: {
      exclude: [...configDefaults.exclude, ...tagged('long', 'postgres', 'longest')],
      provide: { everything: false, inFull: false },
    },
  }),
);
