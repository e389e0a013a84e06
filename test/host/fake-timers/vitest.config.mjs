import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { root: import.meta.dirname, include: ['with-vitest.mjs'], testTimeout: 20_000 } });
