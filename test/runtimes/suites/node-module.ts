export { createRequire, syncBuiltinESMExports } from 'node:module';

/** Deno has none of this name, and where suites run they have nothing compiled to keep. */
export function flushCompileCache(): void {}
