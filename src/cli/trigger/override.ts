import { usageError } from '../shared/exit.ts';
import { isContainer, parseExactly } from '../../sender/event-json.ts';

/**
 * Sets one value in a parsed body: `data.items.0.price=6.50`. What is missing on the way is created.
 *
 * @param override - path=value; the value is JSON, or else a text
 * @throws CommandError that names the path
 */
export function override(body: object, override: string): void {
  const at = override.indexOf('=');
  if (at < 1) throw usageError(`--override ${JSON.stringify(override)} must be path=value, such as data.total=12.50.`);
  const keys = keysOf(override.slice(0, at));
  const last = keys.pop() ?? '';
  let container = body;
  for (const [index, key] of keys.entries()) {
    const next = valueAt(container, key);
    if (next === undefined) container = put(container, key, /^\d+$/.test(keys[index + 1] ?? last) ? [] : {}, override);
    else if (isContainer(next)) container = next;
    else throw throughValue('--override', keys.slice(0, index + 1), next);
  }
  put(container, last, jsonOrText(override.slice(at + 1)), override);
}

/** The paths of overrides that add a field to the top level of a body, the first for each field. */
export function newFields(body: object, overrides: readonly string[]): readonly string[] {
  const paths = new Map<string, string>();
  for (const override of overrides) {
    const [path = ''] = override.split('=', 1);
    const [key = ''] = path.split('.', 1);
    if (!Object.hasOwn(body, key) && !paths.has(key)) paths.set(key, path);
  }
  return [...paths.values()];
}

/**
 * Removes one value from a parsed body.
 *
 * @throws CommandError when it is not there
 */
export function remove(body: object, path: string): void {
  const keys = keysOf(path);
  const last = keys.pop() ?? '';
  let container: unknown = body;
  for (const key of keys) container = isContainer(container) ? valueAt(container, key) : undefined;
  if (!isContainer(container) || !isEntry(container, last)) {
    throw usageError(`--remove ${path}: the event has no value at this path.`);
  }
  if (Array.isArray(container)) container.splice(Number(last), 1);
  else Reflect.deleteProperty(container, last);
}

/** The length of a list is not an entry. */
function isEntry(container: object, key: string): boolean {
  return Object.hasOwn(container, key) && !(Array.isArray(container) && key === 'length');
}

function keysOf(path: string): string[] {
  const keys = path.split('.');
  if (keys.includes('')) throw usageError(`${JSON.stringify(path)} is not a path. Use the form data.items.0.price.`);
  return keys;
}

function valueAt(container: object, key: string): unknown {
  return Object.hasOwn(container, key) ? (container as Record<string, unknown>)[key] : undefined;
}

/** Defined and not assigned, so that `__proto__` is a key like any other. */
function put<Value>(container: object, key: string, value: Value, override: string): Value {
  if (Array.isArray(container) && (!/^\d+$/.test(key) || Number(key) > container.length)) {
    throw usageError(
      `--override ${override}: the list has ${container.length} entries, so it cannot have an entry ${key}.`,
    );
  }
  Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
  return value;
}

function throughValue(option: string, keys: readonly string[], value: unknown): Error {
  const kind = value === null ? 'null' : `a ${typeof value === 'object' ? 'number' : typeof value}`;
  return usageError(`${option}: ${keys.join('.')} is ${kind}, so it cannot contain a value.`);
}

function jsonOrText(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}
