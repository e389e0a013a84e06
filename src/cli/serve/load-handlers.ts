import { Console } from 'node:console';
import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../errors.ts';
import { assertHandlers, type Handlers } from '../../processing/handlers.ts';
import { CommandError, EXIT, usageError } from '../shared/exit.ts';
import { oneLine } from '../../printable.ts';
import { requireFile } from '../shared/read-input.ts';

/**
 * The handlers that a module exports: as its default, or as `handlers`.
 *
 * @throws CommandError that says what is wrong with the module
 */
export async function loadHandlers(file: string): Promise<Handlers> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`There is no file ${file}.`, EXIT.notFound);
  requireFile(path);
  // What handlers print is not the command's data.
  globalThis.console = new Console(process.stderr);
  const handlers = exportedHandlers(await imported(path, file));
  if (handlers === null) {
    throw usageError(`${file} exports no handlers. Write: export default { 'order.created': async (event) => { … } };`);
  }
  try {
    assertHandlers(handlers);
  } catch (failure) {
    throw usageError(`${file}: ${messageOf(failure)}`);
  }
  return handlers;
}

async function imported(path: string, file: string): Promise<object> {
  try {
    return (await import(pathToFileURL(path).href)) as object;
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') throw new CommandError(unreadable(file));
    const hint = failure instanceof SyntaxError ? `. node --check ${file} shows where.` : '';
    throw new CommandError(`${file} cannot be loaded: ${oneLine(messageOf(failure), 1_000)}${hint}`);
  }
}

function unreadable(file: string): string {
  if (!/^\.[cm]?ts$/.test(extname(file))) return `${file} is no module. Give a .js, .mjs or .ts file.`;
  return `This Node (${process.version}) does not run TypeScript. Use Node 22.18 or newer, or compile ${file} to JavaScript.`;
}

interface Exports {
  readonly default?: unknown;
  readonly handlers?: unknown;
}

/** A CommonJS module is its own default export, with what it exports inside. */
function exportedHandlers(module: Exports): Handlers | null {
  const inner = (module.default ?? {}) as Exports;
  const found = [module.handlers, inner.handlers, inner.default, module.default].find((each) => each !== undefined);
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : null;
}
