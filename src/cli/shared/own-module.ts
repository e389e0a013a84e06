import { Console } from 'node:console';
import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../errors.ts';
import { checkedEvent } from '../../events/known-event.ts';
import { assertEventSchemas, type EventSchemas, declaredTypes, schemaOf } from '../../events/own-events.ts';
import { parseEvent } from '../../events/parse.ts';
import type { Issue } from '../../events/webhook-event.ts';
import { oneLine } from '../../printable.ts';
import { requireFile } from './files.ts';
import { CommandError, EXIT, usageError, tell } from './output.ts';

export interface OwnModule {
  readonly default?: unknown;
  readonly handlers?: unknown;
  readonly events?: unknown;
}

/** The output of the module must not mix with the data of the command. */
export async function importOwn(file: string): Promise<OwnModule> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`The file ${file} does not exist.`, EXIT.notFound);
  requireFile(path);
  globalThis.console = new Console(process.stderr);
  try {
    return (await import(pathToFileURL(path).href)) as OwnModule;
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw new CommandError(
        /^\.[cm]?ts$/.test(extname(file))
          ? `This version of Node (${process.version}) does not run TypeScript. Use Node 22.18 or newer, or compile ${file} to JavaScript.`
          : `${file} is not a module. Pass a .js, .mjs or .ts file.`,
      );
    }
    const hint = failure instanceof SyntaxError ? `. To find the error, run node --check ${file}.` : '';
    throw new CommandError(`hookbox cannot load ${file}: ${oneLine(messageOf(failure), 1_000)}${hint}`);
  }
}

/** A CommonJS module is its own default export. */
export function insideDefault(module: OwnModule): OwnModule {
  return isRecord(module.default) ? module.default : {};
}

export function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function exportedSchemas(module: OwnModule, file: string): EventSchemas {
  const schemas = module.events ?? insideDefault(module).events ?? {};
  try {
    assertEventSchemas(schemas);
  } catch (failure) {
    throw usageError(`${file}: ${messageOf(failure)}`);
  }
  return schemas;
}

export async function schemasIn(file: string): Promise<EventSchemas> {
  const schemas = exportedSchemas(await importOwn(file), file);
  if (declaredTypes(schemas).length > 0) return schemas;
  throw usageError(`${file} exports no schemas. Add: export const events = { 'loyalty.earned': schema };`);
}

export async function tellMisfit(body: Uint8Array, schemas: EventSchemas): Promise<void> {
  const parsed = parseEvent(body);
  const schema = parsed.ok ? schemaOf(schemas, parsed.event.type) : undefined;
  if (!parsed.ok || schema === undefined) return;
  const { type } = parsed.event;
  try {
    const checked = await checkedEvent(parsed.event, schema);
    if (!checked.fits)
      tell(`note: the event does not fit your schema for ${type}, so hookbox will store it as dead: ${checked.why}`);
  } catch (failure) {
    tell(`note: your schema for ${type} failed to check the event: ${messageOf(failure)}`);
  }
}

export function whyInvalid(body: Uint8Array): Issue | null {
  const parsed = parseEvent(body);
  return parsed.ok || parsed.id === null ? null : (parsed.issues[0] ?? null);
}
