import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 30_000,
    // Crash and fault tests start processes of their own, and others wait for deadlines: two cores, four files at a time.
    maxWorkers: 4,
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'] },
  },
});
