import { registerHooks } from 'node:module';

const PARTS = /^node:(?:child_process|worker_threads)$|\/node_modules\/(?:better-sqlite3|pg|playwright-core)\//;

// `npm run test:unit` stays fast because no test of it starts a database, a browser or another process.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const part = PARTS.exec(resolved.url)?.[0];
    if (part !== undefined && context.parentURL?.includes('/vitest/') !== true) {
      throw new Error(`A unit test loads ${part}: keep the test out of UNIT in test/vitest.unit.config.ts`);
    }
    return resolved;
  },
});
