export { createRequire, syncBuiltinESMExports } from 'node:module';

/** Deno lacks this function. */
export function flushCompileCache(): void {}
