import { configDefaults, defineConfig, mergeConfig } from 'vitest/config';
import everything, { LONG, ON_POSTGRES, LONGEST } from './vitest.config.ts';

/** `npm test`: everything of the product on its own Node, in minutes. */
export default mergeConfig(
  everything,
  defineConfig({
    test: {
      exclude: [...configDefaults.exclude, ...LONG, ...ON_POSTGRES, ...LONGEST],
      provide: { everything: false, inFull: false },
    },
  }),
);
