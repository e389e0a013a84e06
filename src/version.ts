import { createRequire } from 'node:module';

const { version } = createRequire(import.meta.url)('hookbox/package.json') as { version: string };

/** The version of this hookbox. */
export const VERSION = version;
