import { ConfigurationError } from './errors.ts';
import { didYouMean } from './nearest.ts';

/** A check of one value. */
export interface OptionRule {
  /** The end of the sentence "The option must be …". */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /** The rules of the options inside this one. */
  readonly inside?: OptionRules;
}

/** One rule for each option, so that TypeScript reports an option without one. `true`: its own function checks it. */
export type RulesFor<Options> = { readonly [Key in keyof Options]-?: RuleForValue<NonNullable<Options[Key]>> };
export type OptionRules = Readonly<Record<string, OptionRule | keyof typeof KINDS | true>>;

type RuleForValue<Value> = [Value] extends [boolean]
  ? 'boolean'
  : [Value] extends [(...given: never[]) => unknown]
    ? 'function'
    : [Value] extends [readonly unknown[]]
      ? 'list' | OptionRule
      : [Value] extends [Date]
        ? 'date'
        : [Value] extends [number]
          ? OptionRule
          : OptionRule | true;

const KINDS = {
  boolean: { expected: 'true or false', accepts: (value) => typeof value === 'boolean' },
  function: { expected: 'a function', accepts: (value) => typeof value === 'function' },
  list: { expected: 'a list', accepts: (value) => Array.isArray(value) },
  date: { expected: 'a valid Date', accepts: (value) => value instanceof Date && !Number.isNaN(value.getTime()) },
} as const satisfies Record<string, OptionRule>;

/** A timer with a longer delay fires immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A number above 0. */
export function positive(most = Number.MAX_SAFE_INTEGER): OptionRule {
  return {
    expected: `a number above 0${upTo(most, ' and at most')}`,
    accepts: (value) => typeof value === 'number' && value > 0 && value <= most,
  };
}

/** A whole number; `Infinity`, too, if `most` is. */
export function whole(least = 1, most = Number.MAX_SAFE_INTEGER): OptionRule {
  const isWhole = (value: unknown): boolean => Number.isInteger(value) || (value === Infinity && most === Infinity);
  return {
    expected: `a whole number of at least ${least}${upTo(most, ' and at most')}`,
    accepts: (value) => isWhole(value) && Number(value) >= least && Number(value) <= most,
  };
}

function upTo(most: number, words: string): string {
  return most >= Number.MAX_SAFE_INTEGER ? '' : `${words} ${most}`;
}

/** One of these values. */
export function oneOf(...values: readonly (string | number | boolean)[]): OptionRule {
  return {
    expected: listed(values),
    accepts: (value) => values.some((each) => each === value),
  };
}

/** A list of at least this many of these values. */
export function listOf(values: readonly string[], least = 0): OptionRule {
  return {
    expected: `a list of ${least === 0 ? '' : `at least ${least} of `}${listed(values)}`,
    accepts: (value) => Array.isArray(value) && value.length >= least && value.every((each) => values.includes(each)),
  };
}

function listed(values: readonly (string | number | boolean)[]): string {
  const names = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** A text of 1 to `longest` characters. */
export function textUpTo(longest: number, example?: string): OptionRule {
  return {
    expected: `a string of 1 to ${longest} characters${example === undefined ? '' : `, such as ${example}`}`,
    accepts: (value) => typeof value === 'string' && value.trim() !== '' && value.length <= longest,
  };
}

/** `null`, or what the rule accepts. */
export function orNull({ expected, accepts }: OptionRule): OptionRule {
  return { expected: `${expected}, or null`, accepts: (value) => value === null || accepts(value) };
}

/** An object with its options. */
export function nested(inside: OptionRules): OptionRule {
  return { expected: 'an object', accepts: () => true, inside };
}

/**
 * Checks the names and values of all options, so a typo such as `dryrun: true` is not ignored.
 *
 * @param whose - the function, or the option that contains them
 * @param hint - how to pass options
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertOptions(whose: string, given: unknown, rules: OptionRules, hint = ''): asserts given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw unknownOption(`${whose}: options must be an object, not ${kindOf(given)}.`, rules, hint);
  }
  const unknown = unknownKey(given, rules);
  if (unknown !== undefined) {
    const meant = didYouMean(unknown, Object.keys(rules));
    const fault = `${whose}: unknown option ${named(unknown)}.`;
    throw unknownOption(meant === null ? fault : `${fault} ${meant}`, rules, hint);
  }
  for (const [name, rule] of Object.entries(rules)) {
    const value: unknown = Reflect.get(given, name);
    if (rule === true || value === undefined) continue;
    const { inside, ...check } = typeof rule === 'string' ? { ...KINDS[rule], inside: undefined } : rule;
    if (inside === undefined) assertOption(`${whose}: ${name}`, value, check);
    else assertOptions(`${whose}, ${name}`, value, inside);
  }
}

/** Without the options that are `undefined`: merged over defaults, they would replace them. */
export function definedIn<Options extends object>(options: Options): Options {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Options;
}

/**
 * Checks one value.
 *
 * @throws ConfigurationError `INVALID_OPTION`, with the kind of the value, as the value may be a secret; a number is shown
 */
export function assertOption(name: string, value: unknown, rule: OptionRule | keyof typeof KINDS): void {
  const { expected, accepts }: OptionRule = typeof rule === 'string' ? KINDS[rule] : rule;
  if (accepts(value)) return;
  const given = typeof value === 'number' ? String(value) : kindOf(value).replace('a list', 'another list');
  throw new ConfigurationError('INVALID_OPTION', `${name} must be ${expected}, not ${given}.`);
}

/**
 * Checks that an object with the source of an inbox has nothing else, because hookbox would not read it.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertAlone(whose: string, source: unknown, read: OptionRules, rules: OptionRules, hint: string): void {
  // A pool itself has more than { pool } or { database }.
  if (typeof source !== 'object' || source === null || Object.getPrototypeOf(source) !== Object.prototype) return;
  const beside = unknownKey(source, read);
  if (beside !== undefined) throw unknownOption(`${whose} does not accept ${named(beside)} here.`, rules, hint);
}

function unknownKey(given: object, rules: OptionRules): string | undefined {
  return Object.keys(given).find((key) => !Object.hasOwn(rules, key));
}

function unknownOption(fault: string, rules: OptionRules, hint: string): ConfigurationError {
  const all = `Allowed: ${Object.keys(rules).join(', ')}.`;
  return new ConfigurationError('INVALID_OPTION', [fault, hint, all].filter((part) => part !== '').join(' '));
}

/** A key that is not a name may be any text, such as a URL. */
function named(key: string): string {
  return /^\w{1,40}$/.test(key) ? `\`${key}\`` : '(name hidden)';
}

/** The kind of a value, because the value may be a secret. */
export function kindOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  if (typeof given === 'string') {
    if (given.trim() === '') return 'an empty string';
    return given.length > 100 ? `a string of ${given.length} characters` : 'a string';
  }
  if (Array.isArray(given)) return 'a list';
  return typeof given === 'object' ? 'another object' : `a ${typeof given}`;
}
