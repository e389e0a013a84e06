import { existsSync } from 'node:fs';
import { eventTypes, isEventType } from '../events/event-types.ts';
import { declaredTypes, schemaOf, type EventSchemas } from '../events/own-events.ts';
import type { Issue } from '../events/webhook-event.ts';
import { isContainer, parseExactly, writtenExactly } from '../sender/event-json.ts';
import { makeItsOwn, newEvent } from '../testing/build-event.ts';
import { fixture } from '../testing/fixtures.ts';
import { readInput } from './shared/files.ts';
import { didYouMean } from './shared/options.ts';
import { CommandError, EXIT, usageError, tell } from './shared/output.ts';

export interface Changes {
  readonly eventId?: string;
  readonly override?: readonly string[];
  readonly remove?: readonly string[];
}

export type BodyMaker = () => Buffer;

export type Judge = (body: Uint8Array) => Issue | null;

/** Also warns if the body does not fit the schemas of the module `events`. */
export async function checkedBodies(source: string, changes: Changes, events: string | undefined): Promise<BodyMaker> {
  if (events === undefined) return bodiesOf(source, changes);
  const { schemasIn, tellMisfit } = await import('./shared/own-module.ts');
  const schemas = await schemasIn(events);
  const makeBody = await bodiesOf(source, changes, schemas);
  // All bodies have the same data.
  await tellMisfit(makeBody(), schemas);
  return makeBody;
}

/** A type makes a new event for each delivery. A file keeps its bytes unless the changes apply to it. */
export async function bodiesOf(source: string, changes: Changes, schemas: EventSchemas = {}): Promise<BodyMaker> {
  const { eventId, override = [], remove = [] } = changes;
  const always =
    (body: Buffer): BodyMaker =>
    () =>
      body;
  const known = isEventType(source) ? fixture(source).toString() : null;
  if (known !== null || schemaOf(schemas, source) !== undefined) {
    const make = (): Buffer =>
      known === null ? changed(JSON.stringify(newEvent(source)), changes) : changed(known, changes, makeItsOwn);
    tellNewFields(known ?? JSON.stringify(newEvent(source)), changes);
    // Deliveries with the same id are the same event, so their bytes are equal.
    return eventId !== undefined || override.some(isOfId) ? always(make()) : make;
  }
  if (source !== '-' && !existsSync(source)) throw noSuchSource(source, schemas);
  const bytes = await readInput(source);
  if (eventId === undefined && override.length === 0 && remove.length === 0) return always(bytes);
  tellNewFields(bytes.toString(), changes);
  return always(changed(bytes.toString(), changes));
}

export function isMadeWhole(source: string, { override = [], remove = [] }: Changes): boolean {
  return isEventType(source) && override.length === 0 && remove.length === 0;
}

/** Handlers read `event.data`, so a new field beside it is probably a mistake. */
function tellNewFields(text: string, { override: overrides = [] }: Changes): void {
  const body = parsed(text);
  const reported = new Set<string>();
  for (const each of overrides) {
    const [path = ''] = each.split('=', 1);
    const [key = ''] = path.split('.', 1);
    if (Object.hasOwn(body, key) || reported.has(key)) continue;
    reported.add(key);
    tell(
      `note: --override ${path}=… adds a field at the top level of the event. To set a field of data, use data.${path}=…`,
    );
  }
}

export function isOfId(override: string): boolean {
  return override.startsWith('id=');
}

function changed(text: string, changes: Changes, before: (body: object) => void = () => {}): Buffer {
  const { eventId, override: overrides = [], remove: removals = [] } = changes;
  const body = parsed(text);
  before(body);
  if (eventId !== undefined) Object.assign(body, { id: eventId });
  for (const each of overrides) override(body, each);
  for (const each of removals) remove(body, each);
  return Buffer.from(writtenExactly(body));
}

function parsed(text: string): object {
  let body: unknown;
  try {
    body = parseExactly(text);
  } catch {
    body = null;
  }
  if (isContainer(body) && !Array.isArray(body)) return body;
  throw usageError('The body is not a JSON object, so overrides cannot change it. Remove --override and --remove.');
}

function noSuchSource(source: string, schemas: EventSchemas): CommandError {
  if (/[/\\]|\.json$/.test(source)) return new CommandError(`The file ${source} does not exist.`, EXIT.notFound);
  const types = [...new Set([...eventTypes, ...declaredTypes(schemas)])];
  return usageError(
    `${JSON.stringify(source)} is neither an event type nor a file. ${didYouMean(source, types)} ` +
      'For a type of your own, add --events <module>.',
  );
}

/** Creates missing containers: `data.items.0.price=6.50`. */
function override(body: object, override: string): void {
  const at = override.indexOf('=');
  if (at < 1) throw usageError(`--override ${JSON.stringify(override)} must be path=value, such as data.total=12.50.`);
  const keys = keysOf(override.slice(0, at));
  const last = keys.pop() ?? '';
  let container = body;
  for (const [index, key] of keys.entries()) {
    const next = valueAt(container, key);
    if (next === undefined) container = put(container, key, /^\d+$/.test(keys[index + 1] ?? last) ? [] : {}, override);
    else if (isContainer(next)) container = next;
    else {
      const kind = next === null ? 'null' : `a ${typeof next === 'object' ? 'number' : typeof next}`;
      const path = keys.slice(0, index + 1).join('.');
      throw usageError(`--override: ${path} is ${kind}, so it cannot contain a value.`);
    }
  }
  put(container, last, jsonOrText(override.slice(at + 1)), override);
}

function remove(body: object, path: string): void {
  const keys = keysOf(path);
  const last = keys.pop() ?? '';
  let container: unknown = body;
  for (const key of keys) container = isContainer(container) ? valueAt(container, key) : undefined;
  // The length of a list is not an entry.
  const isLength = Array.isArray(container) && last === 'length';
  if (!isContainer(container) || !Object.hasOwn(container, last) || isLength) {
    throw usageError(`--remove ${path}: the event has no value at this path.`);
  }
  if (Array.isArray(container)) container.splice(Number(last), 1);
  else Reflect.deleteProperty(container, last);
}

function keysOf(path: string): string[] {
  const keys = path.split('.');
  if (keys.includes('')) throw usageError(`${JSON.stringify(path)} is not a path. Use the form data.items.0.price.`);
  return keys;
}

function valueAt(container: object, key: string): unknown {
  return Object.hasOwn(container, key) ? (container as Record<string, unknown>)[key] : undefined;
}

/** `defineProperty` sets even `__proto__`. */
function put<Value>(container: object, key: string, value: Value, override: string): Value {
  if (Array.isArray(container) && (!/^\d+$/.test(key) || Number(key) > container.length)) {
    throw usageError(
      `--override ${override}: the list has ${container.length} entries, so it cannot have an entry ${key}.`,
    );
  }
  Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
  return value;
}

function jsonOrText(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}
