import { createRequire } from 'node:module';

const { version } = createRequire(import.meta.url)('hookbox/package.json') as { version: string };

/** The version of this hookbox. In the package, the build writes it here (`compile-in.ts`). */
export const VERSION = version;
