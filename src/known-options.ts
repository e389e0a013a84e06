import { ConfigurationError } from './errors.ts';
import { didYouMean } from './nearest.ts';

/**
 * Every option once, so that TypeScript says which one is missing in such a list. One that is on or off, a function or a
 * list is named so, and checked.
 */
export type KnownOptions<Options> = { readonly [Key in keyof Options]-?: KindOf<NonNullable<Options[Key]>> };

type KindOf<Value> = [Value] extends [boolean]
  ? 'boolean'
  : [Value] extends [(...given: never[]) => unknown]
    ? 'function'
    : [Value] extends [readonly unknown[]]
      ? 'list'
      : true;
type Known = Readonly<Record<string, keyof typeof KINDS | true>>;

const KINDS = { boolean: 'true or false', function: 'a function', list: 'a list' } as const;

/**
 * Refuses options that there are not: they would do nothing, and that is found out late. `dryrun: true` would be no dry run.
 * So is what is neither on nor off: a text is on, also that of a variable that says `false`.
 *
 * @param whose - the function, or the option that holds them
 * @param hint - where they are given
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertOptions(whose: string, given: unknown, known: Known, hint = ''): asserts given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refusal(`${whose}: options must be an object, not ${kindOf(given)}.`, known, hint);
  }
  const unknown = unknownKey(given, known);
  if (unknown !== undefined) {
    const meant = didYouMean(unknown, Object.keys(known));
    const fault = `${whose}: unknown option ${named(unknown)}.`;
    throw refusal(meant === null ? fault : `${fault} ${meant}`, known, hint);
  }
  for (const [name, kind] of Object.entries(known)) {
    const value: unknown = Reflect.get(given, name);
    if (kind === true || value === undefined || (Array.isArray(value) ? 'list' : typeof value) === kind) continue;
    throw new ConfigurationError('INVALID_OPTION', `${whose}: ${name} must be ${KINDS[kind]}, not ${kindOf(value)}.`);
  }
}

/**
 * Refuses what stands beside the source of an inbox in one object, where nothing else is read.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertAlone(whose: string, source: unknown, read: Known, known: Known, hint: string): void {
  // What is not written as { pool } or { database }, such as a pool itself, has more to it.
  if (typeof source !== 'object' || source === null || Object.getPrototypeOf(source) !== Object.prototype) return;
  const beside = unknownKey(source, read);
  if (beside !== undefined) throw refusal(`${whose} does not accept ${named(beside)} here.`, known, hint);
}

function unknownKey(given: object, known: Known): string | undefined {
  return Object.keys(given).find((key) => !Object.hasOwn(known, key));
}

function refusal(fault: string, known: Known, hint: string): ConfigurationError {
  const all = `Allowed: ${Object.keys(known).join(', ')}.`;
  return new ConfigurationError('INVALID_OPTION', [fault, hint, all].filter((part) => part !== '').join(' '));
}

/** What is no name may be anything, also a URL. */
function named(key: string): string {
  return /^\w{1,40}$/.test(key) ? `\`${key}\`` : '(name hidden)';
}

/** Whatever was given is not quoted: it may be a secret. */
export function kindOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  if (Array.isArray(given)) return 'a list';
  return typeof given === 'object' ? 'another object' : `a ${typeof given}`;
}

/** A timer that is set for longer fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** @throws ConfigurationError `INVALID_OPTION` for anything but a number above 0 and up to `most` */
export function positive(name: string, value: number, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && value > 0 && value <= most) return value;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `${name} must be a number above 0 and at most ${most}, not ${String(value)}.`,
  );
}

/** @throws ConfigurationError `INVALID_OPTION` for what is not whole either */
export function positiveWhole(name: string, value: number, most = Number.MAX_SAFE_INTEGER): number {
  if (positive(name, value, most) === Infinity || Number.isInteger(value)) return value;
  throw new ConfigurationError('INVALID_OPTION', `${name} must be a whole number, not ${value}.`);
}
