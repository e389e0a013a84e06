export { createRequire, syncBuiltinESMExports } from 'node:module';

/** Deno has none of this name, and where suites run they have nothing compiled to keep. */
export function flushCompileCache(): void {}

/** Deno and Bun have none of this name; the suites that would need it run in Node alone. */
export function registerHooks(): never {
  throw new Error('registerHooks is there in Node only');
}
